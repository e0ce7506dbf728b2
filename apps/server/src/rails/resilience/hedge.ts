import { setTimeout as wait } from 'node:timers/promises';
import type { Metrics } from '../../observability/metrics.ts';
import type { AccountInquiry, InquiryOutcome } from '../rail.ts';
import type { Attempt, Attempts } from './attempts.ts';
import type { GuardedRail } from './guarded-rail.ts';

export interface HedgeDependencies {
  readonly attempts: Attempts;
  readonly metrics: Pick<Metrics, 'inquiryHedges'>;
  readonly clock: () => number;
}

/** Asks over the first rail, and once more over the one that `second` gives when the answer is slower than most. */
export type AskHedged = (
  first: GuardedRail,
  inquiry: AccountInquiry,
  shareMs: number,
  second: (nowMs: number) => GuardedRail | null,
) => Promise<InquiryOutcome>;

/**
 * One in twenty answers is later than the 95th percentile, but the budget pays for fewer: what is saved goes to them
 * only while there is plenty, and the rest is kept for those clearly later than the 98th. Without that, answers that are
 * a little late, and come a moment after they were hedged, would use up what the very late ones need.
 */
const STEPS = [
  { part: 0.95, times: 1, keptOfBudget: 5 },
  { part: 0.98, times: 1.25, keptOfBudget: 0 },
] as const;

export function createHedge({ attempts, metrics, clock }: HedgeDependencies): AskHedged {
  /** The rail to ask, when the answer has not come by then. */
  async function secondAfterWaiting(
    one: Attempt,
    answered: Promise<unknown>,
    second: (nowMs: number) => GuardedRail | null,
  ): Promise<GuardedRail | null> {
    const { hedgeBudget, latencies } = one.guarded;
    for (const { part, times, keptOfBudget } of STEPS) {
      const usualMs = latencies.quantile(part);
      if (usualMs === null) return null;
      if (await isSettledWithin(answered, one.startedMs + usualMs * times - clock())) return null;
      const guarded = second(clock());
      if (guarded !== null && hedgeBudget.spend(keptOfBudget)) return guarded;
    }
    return null;
  }

  function settled(attempt: Attempt): Promise<InquiryOutcome> {
    return attempt.outcome.then(
      (outcome) => attempts.complete(attempt, outcome, clock()),
      (error: unknown) => {
        attempts.completeWithError(attempt, clock());
        throw error;
      },
    );
  }

  return async (first, inquiry, shareMs, second) => {
    first.hedgeBudget.earn();
    const startedMs = clock();
    const one = attempts.begin(first, inquiry, shareMs, startedMs);
    const firstAnswer = settled(one);
    const guarded = await secondAfterWaiting(one, firstAnswer, second);
    if (guarded === null) return firstAnswer;

    metrics.inquiryHedges.inc({ rail: guarded.rail.name });
    const nowMs = clock();
    const two = attempts.begin(guarded, inquiry, startedMs + shareMs - nowMs, nowMs);
    const secondAnswer = settled(two);
    const outcome = await Promise.race([firstAnswer, secondAnswer]);
    const others = [firstAnswer, secondAnswer];
    if (outcome.kind !== 'verdict') {
      const outcomes = await Promise.all(others);
      return outcomes.find(({ kind }) => kind === 'verdict') ?? outcome;
    }
    attempts.abandon(one);
    attempts.abandon(two);
    // What comes of the one that lost is settled, and nobody's business any more.
    Promise.all(others).catch(() => {});
    return outcome;
  };
}

async function isSettledWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const enough = new AbortController();
  const late = wait(Math.max(ms, 0), false, { signal: enough.signal }).catch(() => false);
  const settled = promise.then(
    () => true,
    () => true,
  );
  const result = await Promise.race([settled, late]);
  enough.abort();
  return result;
}
