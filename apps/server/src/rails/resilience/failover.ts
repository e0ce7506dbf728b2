import { setTimeout as wait } from 'node:timers/promises';
import type { Metrics } from '../../observability/metrics.ts';
import type { ClientInquiry, InquiryOutcome } from '../rail.ts';
import type { Attempt, Attempts } from './attempts.ts';
import type { GuardedRail } from './guarded-rail.ts';
import type { Route } from './guards.ts';
import type { HedgedInquiry } from './hedge.ts';

/** For a bank, however much time its client's request has left. */
const INQUIRY_DEADLINE_MS = 4_000;
/** With less time left, an attempt would only burden its rail. */
const ATTEMPT_MIN_MS = 500;

const RETRY_DELAY_MIN_MS = 20;
const RETRY_DELAY_MAX_MS = 200;

export const NO_RAIL: InquiryOutcome = { kind: 'no_verdict', reason: 'no_rail', railCode: null };
/** The client's request has no time left for a reply. */
export const NO_TIME_LEFT: InquiryOutcome = { kind: 'no_verdict', reason: 'timeout', railCode: null };

/** When an inquiry that begins now must have its outcome; null where that is too soon for any attempt. */
export function inquiryEndMs({ deadlineMs }: ClientInquiry, nowMs: number): number | null {
  const endMs = nowMs + INQUIRY_DEADLINE_MS;
  if (deadlineMs === undefined || deadlineMs >= endMs) return endMs;
  return deadlineMs - nowMs < ATTEMPT_MIN_MS ? null : deadlineMs;
}

/** From when to when an inquiry runs: at least as long as an attempt. */
export interface InquiryTime {
  readonly startMs: number;
  readonly endMs: number;
}

export interface Failover {
  /**
   * Tries the rails of a route, from the one with the index `first`, until one gives a verdict or the deadline passes.
   * Removes `key` from the inquiries in flight at its end.
   */
  run(route: Route, first: number, inquiry: ClientInquiry, key: string, time: InquiryTime): Promise<InquiryOutcome>;
}

export interface FailoverDependencies {
  readonly attempts: Attempts;
  readonly inquireHedged: HedgedInquiry;
  readonly metrics: Pick<Metrics, 'inquiriesNotSent' | 'inquiryRetries'>;
  readonly inFlight: Map<string, unknown>;
  /** Milliseconds on a clock that never jumps. */
  readonly clock: () => number;
  /** From 0 to below 1: spreads retries. */
  readonly random: () => number;
}

export function createFailover(dependencies: FailoverDependencies): Failover {
  const { attempts, inquireHedged, metrics, inFlight, clock, random } = dependencies;

  /** In the normal case this costs one rail, one timer, and no promise but the rail's own. */
  async function run(
    route: Route,
    first: number,
    inquiry: ClientInquiry,
    key: string,
    { startMs, endMs }: InquiryTime,
  ): Promise<InquiryOutcome> {
    let nowMs = startMs;
    const { clientId } = inquiry;
    let attempt: Attempt | null = null;
    let failed: InquiryOutcome = NO_RAIL;
    let repeatable: GuardedRail | null = null;
    try {
      for (let index = first; index !== -1; index = nextOpenRail(route, index + 1, clientId, nowMs, metrics)) {
        if (endMs - nowMs < ATTEMPT_MIN_MS) break;
        const guarded = route.rails[index] as GuardedRail;
        guarded.retryBudget.earn();
        const shareMs = deadlineShareMs(endMs - nowMs, 1 + openRailsAfter(route, index, clientId, nowMs));
        let outcome: InquiryOutcome;
        if (route.hedge) {
          outcome = await inquireHedged(guarded, inquiry, shareMs, (atMs) => hedgeRail(route, index, clientId, atMs));
          nowMs = clock();
        } else {
          attempt = attempts.begin(guarded, inquiry, shareMs, nowMs);
          const reported = await attempt.outcome;
          nowMs = clock();
          outcome = attempts.complete(attempt, reported, nowMs);
          attempt = null;
        }
        if (outcome.kind === 'verdict') return outcome;
        failed = outcome;
        if (isRepeatable(outcome)) repeatable ??= guarded;
      }
      const retried = repeatable === null ? null : await retry(repeatable, inquiry, endMs);
      return withRetryAfter(retried ?? failed, route, clientId, clock());
    } catch (error) {
      if (attempt !== null) attempts.completeWithError(attempt, clock());
      throw error;
    } finally {
      inFlight.delete(key);
    }
  }

  /** Retries once when deadline and budget allow it; null when they do not. */
  async function retry(guarded: GuardedRail, inquiry: ClientInquiry, endMs: number): Promise<InquiryOutcome | null> {
    const delayMs = RETRY_DELAY_MIN_MS + random() * (RETRY_DELAY_MAX_MS - RETRY_DELAY_MIN_MS);
    const hasTime = endMs - clock() - delayMs >= ATTEMPT_MIN_MS;
    if (!hasTime || guarded.notSentReason(inquiry.clientId, clock()) !== null || !guarded.retryBudget.spend())
      return null;
    // A random delay spreads the retries of inquiries that failed together.
    await wait(delayMs);
    const nowMs = clock();
    if (guarded.notSentReason(inquiry.clientId, nowMs) !== null) return null;
    metrics.inquiryRetries.inc({ rail: guarded.rail.name });
    return attempts.run(guarded, inquiry, endMs - nowMs, nowMs);
  }

  return { run };
}

/**
 * The index of the first rail, from the index `from` on, that an inquiry may be sent over now; -1 when there is none.
 */
export function nextOpenRail(
  { rails }: Route,
  from: number,
  clientId: string,
  nowMs: number,
  metrics: Pick<Metrics, 'inquiriesNotSent'>,
): number {
  for (let index = from; index < rails.length; index += 1) {
    const guarded = rails[index] as GuardedRail;
    const reason = guarded.notSentReason(clientId, nowMs);
    if (reason === null) return index;
    metrics.inquiriesNotSent.inc({ rail: guarded.rail.name, reason });
    guarded.counts.recordNotSent(reason);
  }
  return -1;
}

/** How many of the rails after this one an inquiry could be sent over now. */
function openRailsAfter({ rails }: Route, index: number, clientId: string, nowMs: number): number {
  let open = 0;
  for (let later = index + 1; later < rails.length; later += 1) {
    if (rails[later]?.notSentReason(clientId, nowMs) === null) open += 1;
  }
  return open;
}

/** The time for one attempt, so that each of the rails that are still open gets as much. */
const deadlineShareMs = (leftMs: number, railsLeft: number): number =>
  railsLeft === 1 ? leftMs : Math.max(leftMs / railsLeft, Math.min(ATTEMPT_MIN_MS, leftMs));

/** Whether a retry may succeed. An inquiry changes nothing at the bank, so it may be sent again. */
const isRepeatable = (outcome: InquiryOutcome): boolean =>
  outcome.kind === 'no_verdict' &&
  (outcome.reason === 'timeout' || outcome.reason === 'unreachable' || outcome.reason === 'bank_unavailable');

/** The rail for a hedged inquiry: the next choice, or else the same rail, whose second reply may come sooner. */
function hedgeRail({ rails }: Route, index: number, clientId: string, nowMs: number): GuardedRail | null {
  const candidates = [...rails.slice(index + 1), ...rails.slice(index, index + 1)];
  return candidates.find((guarded) => guarded.notSentReason(clientId, nowMs) === null) ?? null;
}

/** Adds when one of the rails accepts inquiries again, if none does now. */
export function withRetryAfter(
  outcome: InquiryOutcome,
  { rails }: Route,
  clientId: string,
  nowMs: number,
): InquiryOutcome {
  if (outcome.kind === 'verdict' || rails.length === 0) return outcome;
  const retryAfterMs = Math.min(...rails.map((guarded) => guarded.waitMs(clientId, nowMs)));
  return retryAfterMs > 0 ? { ...outcome, retryAfterMs } : outcome;
}
