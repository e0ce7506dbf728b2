/**
 * Who guesses at account numbers hears NOT_FOUND more often than not; who is about to pay hears it now and then. Old lists of
 * accounts are honest and full of them, so it takes hundreds to tell.
 */
export interface NotFoundRatio {
  /** What share of the last verdicts was NOT_FOUND, this one included; 0 while there are too few to tell. */
  heard(isNotFound: boolean, nowMs: number): number;
  /** From here on, it begins anew. */
  forget(): void;
}

export const NOT_FOUND_BOUNDS = { slowFrom: 0.5, refuseFrom: 0.8 } as const;

/** Verdicts that are looked at: the last ones. */
const VERDICTS_MAX = 400;
const VERDICTS_MIN = 200;
/** After so long without one, those before it say nothing any more. */
const PAUSE_MS = 30 * 60_000;

export function createNotFoundRatio(): NotFoundRatio {
  // 1 where it was NOT_FOUND.
  const last = new Uint8Array(VERDICTS_MAX);
  let next = 0;
  let count = 0;
  let notFound = 0;
  let heardMs = Number.NEGATIVE_INFINITY;

  function forget(): void {
    last.fill(0);
    next = 0;
    count = 0;
    notFound = 0;
  }

  return {
    forget,
    heard(isNotFound, nowMs) {
      if (nowMs - heardMs >= PAUSE_MS) forget();
      heardMs = nowMs;
      notFound += Number(isNotFound) - (last[next] ?? 0);
      last[next] = Number(isNotFound);
      next = (next + 1) % VERDICTS_MAX;
      count = Math.min(count + 1, VERDICTS_MAX);
      return count < VERDICTS_MIN ? 0 : notFound / count;
    },
  };
}
