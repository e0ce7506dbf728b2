/** Something extra that may be done once for every so many ordinary ones: never more, however bad things are. */
export interface RetryBudget {
  /** An ordinary one was done. */
  earn(): void;
  /** Takes one, if then `kept` are left over. */
  spend(kept?: number): boolean;
}

/**
 * `oneIn` ordinary ones earn one extra; `savedMax` can be saved up. It counts whole ordinary ones: a sum of tenths
 * would never quite reach one.
 */
export function createRetryBudget(oneIn: number, savedMax: number): RetryBudget {
  const max = oneIn * savedMax;
  let saved = 0;
  return {
    earn() {
      if (saved < max) saved += 1;
    },
    spend(kept = 0) {
      if (saved < oneIn * (kept + 1)) return false;
      saved -= oneIn;
      return true;
    },
  };
}
