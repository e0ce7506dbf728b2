import type { NoVerdictReason } from '../rail.ts';

/** Why a bank did not answer, as a person wants to know who has to telephone with it. */
export interface RecentReason {
  readonly reason: NoVerdictReason;
  readonly railCode: string | null;
  readonly times: number;
  /** ISO 8601 UTC; the last time. */
  readonly at: string;
}

export interface RecentReasons {
  note(reason: NoVerdictReason, railCode: string | null): void;
  /** The latest first. */
  list(): readonly RecentReason[];
}

const LISTED_MAX = 5;

export function createRecentReasons(wallMs: () => number): RecentReasons {
  let reasons: RecentReason[] = [];
  return {
    note(reason, railCode) {
      const isSame = (each: RecentReason): boolean => each.reason === reason && each.railCode === railCode;
      const times = (reasons.find(isSame)?.times ?? 0) + 1;
      const others = reasons.filter((each) => !isSame(each)).slice(0, LISTED_MAX - 1);
      reasons = [{ reason, railCode, times, at: new Date(wallMs()).toISOString() }, ...others];
    },
    list: () => reasons,
  };
}
