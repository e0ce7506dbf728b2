import type { NoVerdictReason } from '../rail.ts';

/** Why a bank did not answer, as a person wants to know who has to telephone with it. */
export interface RecentFailure {
  readonly reason: NoVerdictReason;
  readonly railCode: string | null;
  readonly count: number;
  /** ISO 8601 UTC; the last time. */
  readonly lastAt: string;
}

export interface RecentFailures {
  record(reason: NoVerdictReason, railCode: string | null): void;
  /** The latest first. */
  list(): readonly RecentFailure[];
}

const LISTED_MAX = 5;

export function createRecentFailures(wallMs: () => number): RecentFailures {
  let reasons: RecentFailure[] = [];
  return {
    record(reason, railCode) {
      const isSame = (each: RecentFailure): boolean => each.reason === reason && each.railCode === railCode;
      const count = (reasons.find(isSame)?.count ?? 0) + 1;
      const others = reasons.filter((each) => !isSame(each)).slice(0, LISTED_MAX - 1);
      reasons = [{ reason, railCode, count, lastAt: new Date(wallMs()).toISOString() }, ...others];
    },
    list: () => reasons,
  };
}
