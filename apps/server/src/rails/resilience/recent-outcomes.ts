import type { NoVerdictReason } from '../rail.ts';

/** The durations of recent inquiries to one bank. */
export interface Latencies {
  /** `isAnswer`: the bank has answered; otherwise the inquiry timed out or was cancelled after this time. */
  record(ms: number, isAnswer: boolean): void;
  /** How many of the durations that are kept are those of answers. */
  answers(): number;
  /** In milliseconds; `fraction` is 0.95 for the 95th percentile. Null while too few are known. */
  quantile(fraction: number): number | null;
}

const LATENCIES_KEPT = 1_024;
const LATENCIES_NEEDED = 20;
/** Quantiles change slowly. Sorting again for each inquiry would cost more than the difference matters. */
const SORT_INTERVAL = 64;

export function createLatencies(): Latencies {
  const ring = new Float32Array(LATENCIES_KEPT);
  const answered = new Uint8Array(LATENCIES_KEPT);
  let recorded = 0;
  let sorted = new Float32Array(0);
  let sortedAt = 0;

  return {
    record(ms, isAnswer) {
      ring[recorded % LATENCIES_KEPT] = ms;
      answered[recorded % LATENCIES_KEPT] = isAnswer ? 1 : 0;
      recorded += 1;
    },
    answers: () => answered.reduce((sum, each) => sum + each, 0),
    quantile(fraction) {
      if (recorded < LATENCIES_NEEDED) return null;
      // While few are known, each one matters.
      if (sorted.length === 0 || recorded - sortedAt >= Math.min(SORT_INTERVAL, sorted.length / 10)) {
        sorted = ring.slice(0, Math.min(recorded, LATENCIES_KEPT)).sort();
        sortedAt = recorded;
      }
      return sorted[Math.min(Math.floor(sorted.length * fraction), sorted.length - 1)] ?? null;
    },
  };
}

/** One kind of failure, as the operator needs it for a call to the bank's help desk. */
export interface RecentFailure {
  readonly reason: NoVerdictReason;
  readonly railCode: string | null;
  readonly count: number;
  /** ISO 8601 UTC. */
  readonly lastAt: string;
}

export interface RecentFailures {
  record(reason: NoVerdictReason, railCode: string | null): void;
  /** The latest first. */
  list(): readonly RecentFailure[];
}

const FAILURES_MAX = 5;

export function createRecentFailures(wallMs: () => number): RecentFailures {
  let failures: RecentFailure[] = [];
  return {
    record(reason, railCode) {
      const isSame = (each: RecentFailure): boolean => each.reason === reason && each.railCode === railCode;
      const count = (failures.find(isSame)?.count ?? 0) + 1;
      const others = failures.filter((each) => !isSame(each)).slice(0, FAILURES_MAX - 1);
      failures = [{ reason, railCode, count, lastAt: new Date(wallMs()).toISOString() }, ...others];
    },
    list: () => failures,
  };
}

/** The accounts whose inquiries failed last. Each one counts once for the circuit breaker. */
export interface FailingAccounts {
  /** Whether the account was not among them yet. */
  add(account: string): boolean;
  clear(): void;
}

/**
 * More than the consecutive failures that open the circuit breaker (`consecutiveFailuresMax`), so that fewer accounts
 * than that can never open it, in whatever order they are inquired.
 */
const FAILING_ACCOUNTS_MAX = 8;

export function createFailingAccounts(): FailingAccounts {
  /** The latest last. */
  const accounts = new Set<string>();
  return {
    add(account) {
      const isNew = !accounts.delete(account);
      accounts.add(account);
      const [oldest = account] = accounts;
      if (accounts.size > FAILING_ACCOUNTS_MAX) accounts.delete(oldest);
      return isNew;
    },
    clear: () => accounts.clear(),
  };
}
