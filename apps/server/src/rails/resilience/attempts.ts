import type { Metrics } from '../../observability/metrics.ts';
import { type AccountInquiry, type InquiryOutcome, outcomeLabel } from '../rail.ts';
import type { GuardedRail } from './guarded-rail.ts';

/** A question that is under way over one rail. Each one that began is settled, whatever comes of it. */
export interface Attempt {
  readonly guarded: GuardedRail;
  readonly inquiry: AccountInquiry;
  readonly isProbe: boolean;
  readonly startedMs: number;
  readonly outcome: Promise<InquiryOutcome>;
  readonly deadline: AbortController;
  readonly timer: NodeJS.Timeout;
}

export interface Attempts {
  /** Nothing refuses it now; it is given `shareMs`. */
  begin(guarded: GuardedRail, inquiry: AccountInquiry, shareMs: number, nowMs: number): Attempt;
  /** What it came to, as it is passed on. */
  complete(attempt: Attempt, outcome: InquiryOutcome, nowMs: number): InquiryOutcome;
  /** The rail broke its promise and rejected. That is a fault of ours, and says nothing about the bank. */
  completeWithError(attempt: Attempt, nowMs: number): void;
  /** Nobody waits for it any more. */
  abandon(attempt: Attempt): void;
  /** Begins and settles. */
  run(guarded: GuardedRail, inquiry: AccountInquiry, shareMs: number, nowMs: number): Promise<InquiryOutcome>;
}

/** `clock` gives milliseconds and never jumps. */
export function createAttempts(metrics: Pick<Metrics, 'inquiries'>, clock: () => number): Attempts {
  const abandoned = new WeakSet<Attempt>();

  const begin: Attempts['begin'] = (guarded, inquiry, shareMs, nowMs) => {
    const isProbe = guarded.begin(nowMs);
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), shareMs);
    const outcome = guarded.rail.inquireAccount(inquiry, deadline.signal);
    return { guarded, inquiry, isProbe, startedMs: nowMs, outcome, deadline, timer };
  };

  const complete: Attempts['complete'] = (attempt, outcome, nowMs) => {
    clearTimeout(attempt.timer);
    const { guarded, isProbe, inquiry, startedMs } = attempt;
    const tookMs = nowMs - startedMs;
    const rail = guarded.rail.name;
    if (outcome.kind === 'no_verdict' && abandoned.has(attempt)) {
      // It would have taken longer still: leaving it out would make the bank look faster than it is.
      guarded.release(isProbe, tookMs, nowMs);
      metrics.inquiries.record(rail, 'abandoned', tookMs);
      return outcome;
    }
    guarded.end(isProbe, inquiry, outcome, tookMs, nowMs);
    metrics.inquiries.record(rail, outcomeLabel(outcome), tookMs);
    const mayBeClosed =
      outcome.kind === 'verdict' && outcome.verdict.status === 'NOT_FOUND' && guarded.rail.distinguishesClosed !== true;
    return mayBeClosed ? { ...outcome, rail, mayBeClosed } : { ...outcome, rail };
  };

  const completeWithError: Attempts['completeWithError'] = ({ guarded, isProbe, timer }, nowMs) => {
    clearTimeout(timer);
    guarded.release(isProbe, null, nowMs);
  };

  return {
    begin,
    complete,
    completeWithError,
    abandon(attempt) {
      abandoned.add(attempt);
      attempt.deadline.abort();
    },
    async run(guarded, inquiry, shareMs, nowMs) {
      const attempt = begin(guarded, inquiry, shareMs, nowMs);
      try {
        const outcome = await attempt.outcome;
        return complete(attempt, outcome, clock());
      } catch (error) {
        completeWithError(attempt, clock());
        throw error;
      }
    },
  };
}
