import type { Bank } from '../../domain/bank.ts';
import type { InquiryOutcome, NotSentReason, NoVerdictReason } from '../rail.ts';

/** How inquiries to one bank ended, over all rails, since the counts were taken last. Plain numbers in memory. */
export interface InquiryCounts {
  record(outcome: InquiryOutcome, tookMs: number): void;
  recordNotSent(reason: NotSentReason): void;
  /** Returns the counts, which begin anew. */
  take(): readonly OutcomeCount[];
}

/** How inquiries to a bank ended. */
export interface BankCount extends OutcomeCount {
  readonly bank: Bank;
}

/** The counts of all banks. They outlive the rails that lead to the banks. */
export interface BankCounts {
  of(bank: Bank): InquiryCounts;
  take(): readonly BankCount[];
}

export function createBankCounts(): BankCounts {
  const countsOf = new Map<Bank, InquiryCounts>();
  return {
    of(bank) {
      const counts = countsOf.get(bank) ?? createInquiryCounts();
      countsOf.set(bank, counts);
      return counts;
    },
    take: () =>
      [...countsOf].flatMap(([bank, counts]) =>
        counts.take().map(({ outcome, count, durations }) => ({ bank, outcome, count, durations })),
      ),
  };
}

/** `verdict`, or why there was none. */
export type CountedOutcome = 'verdict' | NoVerdictReason;

export interface OutcomeCount {
  readonly outcome: CountedOutcome;
  readonly count: number;
  /** How many took how long, by bucket; empty for outcomes whose duration says nothing about the bank. */
  readonly durations: readonly number[];
}

/**
 * The first bucket ends at 4 ms, each further one a fifth later than the one before, and the last one takes the rest:
 * the 4 s that an inquiry may take are in it. What is stored depends on these numbers: after a change of them, the
 * hours before would have wrong percentiles.
 */
const FIRST_BUCKET_MS = 4;
const BUCKETS_PER_DOUBLING = 4;
const DURATION_BUCKETS = 41;

/** The upper bound of a bucket; that of the last one is exceeded by a late timer only. */
export const bucketEndMs = (bucket: number): number => FIRST_BUCKET_MS * 2 ** (bucket / BUCKETS_PER_DOUBLING);

function bucketOf(ms: number): number {
  if (ms <= FIRST_BUCKET_MS) return 0;
  return Math.min(Math.ceil(BUCKETS_PER_DOUBLING * Math.log2(ms / FIRST_BUCKET_MS)), DURATION_BUCKETS - 1);
}

interface Counted {
  count: number;
  readonly durations: number[];
}

export function createInquiryCounts(): InquiryCounts {
  const counts = new Map<CountedOutcome, Counted>();

  function countOf(outcome: CountedOutcome): Counted {
    let counted = counts.get(outcome);
    if (counted === undefined) {
      const durations = Array.from({ length: isTimed(outcome) ? DURATION_BUCKETS : 0 }, () => 0);
      counts.set(outcome, (counted = { count: 0, durations }));
    }
    counted.count += 1;
    return counted;
  }

  return {
    record(outcome, tookMs) {
      const name = outcome.kind === 'verdict' ? 'verdict' : outcome.reason;
      // Nothing was sent, because the rail cannot carry this account number.
      if (name === 'not_supported') return;
      const { durations } = countOf(name);
      if (durations.length === 0) return;
      const bucket = bucketOf(tookMs);
      durations[bucket] = (durations[bucket] ?? 0) + 1;
    },
    recordNotSent(reason) {
      countOf(reason);
    },
    take() {
      if (counts.size === 0) return [];
      const taken = [...counts].map(([outcome, { count, durations }]) => ({ outcome, count, durations }));
      counts.clear();
      return taken;
    },
  };
}

/** How long a rejection took says nothing about how long a verdict takes. */
const isTimed = (outcome: CountedOutcome): boolean => outcome === 'verdict' || outcome === 'timeout';
