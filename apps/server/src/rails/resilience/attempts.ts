import type { Metrics } from '../../observability/metrics.ts';
import type { Span } from '../../observability/tracing/tracing.ts';
import { type ClientInquiry, type InquiryOutcome, outcomeLabel, type Rail } from '../rail.ts';
import type { GuardedRail } from './guarded-rail.ts';

/** One inquiry in flight over one rail. Each attempt that began is completed, whatever its outcome. */
export interface Attempt {
  readonly guarded: GuardedRail;
  readonly inquiry: ClientInquiry;
  readonly isProbe: boolean;
  readonly startedMs: number;
  readonly outcome: Promise<InquiryOutcome>;
  readonly deadline: AbortController;
  readonly timer: NodeJS.Timeout;
  readonly span: Span | undefined;
}

export interface Attempts {
  /** Call only when the guarded rail's `notSentReason` is null. The deadline is `shareMs` from now. */
  begin(guarded: GuardedRail, inquiry: ClientInquiry, shareMs: number, nowMs: number): Attempt;
  /** Records the outcome, and returns it with the rail's name. */
  complete(attempt: Attempt, outcome: InquiryOutcome, nowMs: number): InquiryOutcome;
  /** The rail threw or rejected, which the port forbids. That is a defect of ours and says nothing about the bank. */
  completeWithError(attempt: Attempt, nowMs: number): void;
  /** The outcome is no longer needed. */
  cancel(attempt: Attempt): void;
  /** Begins an attempt and completes it. */
  run(guarded: GuardedRail, inquiry: ClientInquiry, shareMs: number, nowMs: number): Promise<InquiryOutcome>;
}

/** A rail that throws rejects. Thrown on, the error would leave the attempt's slot, timer and key behind for good. */
function send(rail: Rail, inquiry: ClientInquiry, signal: AbortSignal): Promise<InquiryOutcome> {
  try {
    return rail.inquireAccount(inquiry, signal);
  } catch (error) {
    return Promise.reject(error);
  }
}

const QUOTA_EXHAUSTED: InquiryOutcome = { kind: 'no_verdict', reason: 'quota_exhausted', railCode: null };

/** `clock` returns milliseconds and never jumps. */
export function createAttempts(
  metrics: Pick<Metrics, 'inquiries' | 'inquiriesNotSent'>,
  clock: () => number,
): Attempts {
  const cancelled = new WeakSet<Attempt>();

  const begin: Attempts['begin'] = (guarded, inquiry, shareMs, nowMs) => {
    const isProbe = guarded.begin(inquiry, nowMs);
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), shareMs);
    const { rail, reserve } = guarded;
    const span = inquiry.span === undefined ? undefined : beginSpan(inquiry.span, rail, inquiry);
    const outcome =
      reserve === null
        ? send(rail, inquiry, deadline.signal)
        : reserve().then((isAllowed) => (isAllowed ? send(rail, inquiry, deadline.signal) : QUOTA_EXHAUSTED));
    return { guarded, inquiry, isProbe, startedMs: nowMs, outcome, deadline, timer, span };
  };

  const complete: Attempts['complete'] = (attempt, outcome, nowMs) => {
    clearTimeout(attempt.timer);
    const { guarded, isProbe, inquiry, startedMs, span } = attempt;
    const tookMs = nowMs - startedMs;
    const rail = guarded.rail.name;
    if (span !== undefined) endSpan(span, outcome);
    if (outcome === QUOTA_EXHAUSTED) {
      guarded.release(isProbe, inquiry, null, nowMs);
      metrics.inquiriesNotSent.inc({ rail, reason: 'quota_exhausted' });
      guarded.counts.recordNotSent('quota_exhausted');
      return outcome;
    }
    if (outcome.kind === 'no_verdict' && cancelled.has(attempt)) {
      // The duration is recorded although the inquiry would have taken longer: without it, the bank would look faster.
      guarded.release(isProbe, inquiry, tookMs, nowMs);
      metrics.inquiries.record(rail, 'abandoned', tookMs);
      return outcome;
    }
    guarded.end(isProbe, inquiry, outcome, tookMs, nowMs);
    metrics.inquiries.record(rail, outcomeLabel(outcome), tookMs, span);
    const mayBeClosed =
      outcome.kind === 'verdict' && outcome.verdict.status === 'NOT_FOUND' && guarded.rail.distinguishesClosed !== true;
    return mayBeClosed ? { ...outcome, rail, mayBeClosed } : { ...outcome, rail };
  };

  const completeWithError: Attempts['completeWithError'] = ({ guarded, inquiry, isProbe, timer, span }, nowMs) => {
    clearTimeout(timer);
    span?.end({}, 'internal_error');
    guarded.release(isProbe, inquiry, null, nowMs);
  };

  return {
    begin,
    complete,
    completeWithError,
    cancel(attempt) {
      cancelled.add(attempt);
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

const beginSpan = (parent: Span, rail: Rail, { bank }: ClientInquiry): Span =>
  parent.begin('account inquiry', 'client', { 'tiba.rail': rail.name, 'tiba.bank': bank.bic });

function endSpan(span: Span, outcome: InquiryOutcome): void {
  const { railCode } = outcome;
  const attributes = {
    'tiba.outcome': outcomeLabel(outcome),
    ...(railCode === null ? {} : { 'tiba.rail_code': railCode }),
  };
  span.end(attributes, outcome.kind === 'verdict' ? undefined : outcome.reason);
}
