import type { Thresholds } from './restrictions.ts';

/**
 * The share of NOT_FOUND among a client's recent verdicts. A client that guesses account numbers gets NOT_FOUND more
 * often than not; a client that is about to pay gets it now and then. A legitimate client with an old list of accounts
 * gets many, so the ratio needs hundreds of verdicts before it says anything.
 */
export interface NotFoundRatio {
  /** Returns the share of NOT_FOUND among the last verdicts, including this one; 0 while there are too few verdicts. */
  recordVerdict(isNotFound: boolean, nowMs: number): number;
  /** Starts to count again from zero. */
  reset(): void;
}

export const NOT_FOUND_THRESHOLDS: Thresholds = { slowFrom: 0.5, blockFrom: 0.8 };

/** The ratio covers the last verdicts, at most this many. */
const VERDICTS_MAX = 400;
const VERDICTS_MIN = 200;
/** After this long without a verdict, the earlier ones no longer count. */
const PAUSE_MS = 30 * 60_000;

export function createNotFoundRatio(): NotFoundRatio {
  // A ring buffer; 1 stands for NOT_FOUND.
  const verdicts = new Uint8Array(VERDICTS_MAX);
  let next = 0;
  let count = 0;
  let notFound = 0;
  let lastMs = Number.NEGATIVE_INFINITY;

  function reset(): void {
    verdicts.fill(0);
    next = 0;
    count = 0;
    notFound = 0;
  }

  return {
    reset,
    recordVerdict(isNotFound, nowMs) {
      if (nowMs - lastMs >= PAUSE_MS) reset();
      lastMs = nowMs;
      notFound += Number(isNotFound) - (verdicts[next] ?? 0);
      verdicts[next] = Number(isNotFound);
      next = (next + 1) % VERDICTS_MAX;
      count = Math.min(count + 1, VERDICTS_MAX);
      return count < VERDICTS_MIN ? 0 : notFound / count;
    },
  };
}
