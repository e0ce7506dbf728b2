import { within } from '../../lib/within.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { ClientInquiry, InquiryOutcome } from '../rail.ts';
import type { Attempt, Attempts } from './attempts.ts';
import type { GuardedRail } from './guarded-rail.ts';

export interface HedgeDependencies {
  readonly attempts: Attempts;
  readonly metrics: Pick<Metrics, 'inquiryHedges'>;
  readonly clock: () => number;
}

/**
 * Sends an inquiry over the first rail. When it is slower than most, sends a second one over the rail that `hedgeRail`
 * returns. The first verdict wins.
 */
export type HedgedInquiry = (
  first: GuardedRail,
  inquiry: ClientInquiry,
  shareMs: number,
  hedgeRail: (nowMs: number) => GuardedRail | null,
) => Promise<InquiryOutcome>;

/**
 * One in twenty inquiries is slower than the 95th percentile, but the budget pays for fewer hedges. Those inquiries are
 * hedged only while the budget is well filled; the reserve is for inquiries clearly slower than the 98th percentile.
 * Without the reserve, inquiries that are a little late, and end just after they were hedged, would use up the budget
 * of the very late ones.
 */
const STEPS = [
  { quantile: 0.95, factor: 1, budgetReserve: 5 },
  { quantile: 0.98, factor: 1.25, budgetReserve: 0 },
] as const;

export function createHedge({ attempts, metrics, clock }: HedgeDependencies): HedgedInquiry {
  /**
   * Begins the second inquiry once the first is late; null when the first has ended or no hedge is allowed. Nothing is
   * awaited between the check whether the rail accepts an inquiry and its beginning: others would take the last slot.
   */
  async function beginWhenLate(
    first: Attempt,
    ended: Promise<unknown>,
    shareMs: number,
    hedgeRail: (nowMs: number) => GuardedRail | null,
  ): Promise<Attempt | null> {
    const { hedgeBudget, latencies } = first.guarded;
    for (const { quantile, factor, budgetReserve } of STEPS) {
      const usualMs = latencies.quantile(quantile);
      if (usualMs === null) return null;
      if (await endsWithin(ended, first.startedMs + usualMs * factor - clock())) return null;
      const nowMs = clock();
      const guarded = hedgeRail(nowMs);
      if (guarded === null || !hedgeBudget.spend(budgetReserve)) continue;
      metrics.inquiryHedges.inc({ rail: guarded.rail.name });
      return attempts.begin(guarded, first.inquiry, first.startedMs + shareMs - nowMs, nowMs);
    }
    return null;
  }

  function completed(attempt: Attempt): Promise<InquiryOutcome> {
    return attempt.outcome.then(
      (outcome) => attempts.complete(attempt, outcome, clock()),
      (error: unknown) => {
        attempts.completeWithError(attempt, clock());
        throw error;
      },
    );
  }

  return async (first, inquiry, shareMs, hedgeRail) => {
    first.hedgeBudget.earn();
    const attempt = attempts.begin(first, inquiry, shareMs, clock());
    const firstOutcome = completed(attempt);
    const hedge = await beginWhenLate(attempt, firstOutcome, shareMs, hedgeRail);
    if (hedge === null) return firstOutcome;

    const both = [firstOutcome, completed(hedge)];
    const outcome = await Promise.race(both);
    if (outcome.kind !== 'verdict') {
      const outcomes = await Promise.all(both);
      return outcomes.find(({ kind }) => kind === 'verdict') ?? outcome;
    }
    attempts.cancel(attempt);
    attempts.cancel(hedge);
    // The slower one is still completed for the statistics, but nothing waits for it any more.
    Promise.all(both).catch(() => {});
    return outcome;
  };
}

function endsWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const ended = promise.then(
    () => true,
    () => true,
  );
  return within(ended, Math.max(ms, 0), false);
}
