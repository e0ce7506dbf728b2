/**
 * The outcome of an inquiry, as evidence about the bank.
 *
 * - `overlapping_failure`: the inquiry failed, but the bank answered another one while this one was in flight.
 * - `ignored`: the outcome says nothing about the bank, such as that of an inquiry that was cancelled.
 */
export type BreakerOutcome =
  | 'success'
  | 'failure'
  | 'overlapping_failure'
  | 'throttled'
  | 'credentials_rejected'
  | 'ignored';

export interface BreakerSettings {
  /** This many failures with no success between them open the breaker. */
  readonly consecutiveFailuresMax: number;
  /** The failure rate opens the breaker only with at least this many outcomes in the window. */
  readonly windowOutcomesMin: number;
  /** A failure rate of at least this in the window, from 0 to 1, opens the breaker. */
  readonly windowFailureRateMax: number;
  readonly windowMs: number;
  /** The first open time. Each probe that fails doubles it. */
  readonly openMinMs: number;
  readonly openMaxMs: number;
  /** This many throttled outcomes with no other between them open the breaker for a short time. */
  readonly consecutiveThrottledMax: number;
  readonly throttledOpenMs: number;
  /**
   * This many rejections of the operator's credentials with no success between them open the breaker. A single one may
   * be meant for the inquiry, but a bank that rejects every inquiry may in the end lock the operator out.
   */
  readonly consecutiveRejectionsMax: number;
}

export const isFailure = (outcome: BreakerOutcome): boolean =>
  outcome === 'failure' || outcome === 'overlapping_failure';

/** Counts the outcomes while the breaker is closed: consecutive ones, and the failure rate in the window. */
export interface OutcomeCounters {
  /** Returns whether the outcome trips the breaker. */
  record(outcome: BreakerOutcome, clientId: string | null, nowMs: number): boolean;
  /**
   * The client that caused most of the failures that tripped the breaker, if those of the others alone would not have
   * done so; null when there is no such client.
   */
  mainClient(): string | null;
  /** Removes the failures of a client. */
  forget(clientId: string): void;
  reset(): void;
}

/** The failures of one client. */
interface ClientFailures {
  consecutive: number;
  now: number;
  before: number;
}

/** What the counters count. The window moves by halves: exact enough for a rate, and two numbers instead of a list. */
interface Counts {
  readonly failuresByClient: Map<string, ClientFailures>;
  consecutiveFailures: number;
  consecutiveThrottled: number;
  consecutiveRejections: number;
  halfEndsMs: number;
  outcomes: { now: number; before: number };
  failures: { now: number; before: number };
}

export function createOutcomeCounters(settings: BreakerSettings): OutcomeCounters {
  const counts: Counts = {
    failuresByClient: new Map(),
    consecutiveFailures: 0,
    consecutiveThrottled: 0,
    consecutiveRejections: 0,
    halfEndsMs: Number.NEGATIVE_INFINITY,
    outcomes: { now: 0, before: 0 },
    failures: { now: 0, before: 0 },
  };

  function trips(consecutive: number, outcomes: number, failures: number): boolean {
    const isRateExceeded =
      outcomes >= settings.windowOutcomesMin && failures / outcomes >= settings.windowFailureRateMax;
    return consecutive >= settings.consecutiveFailuresMax || isRateExceeded;
  }

  return {
    record(outcome, clientId, nowMs) {
      if (nowMs >= counts.halfEndsMs) moveWindow(counts, settings.windowMs / 2, nowMs);
      if (outcome === 'throttled') {
        counts.consecutiveThrottled += 1;
        return counts.consecutiveThrottled >= settings.consecutiveThrottledMax;
      }
      counts.outcomes.now += 1;
      counts.consecutiveThrottled = 0;
      if (!isFailure(outcome)) {
        endConsecutiveFailures(counts);
        counts.consecutiveRejections = outcome === 'credentials_rejected' ? counts.consecutiveRejections + 1 : 0;
        return counts.consecutiveRejections >= settings.consecutiveRejectionsMax;
      }
      countFailure(counts, outcome, clientId);
      const { consecutiveFailures, outcomes, failures } = counts;
      return trips(consecutiveFailures, outcomes.now + outcomes.before, failures.now + failures.before);
    },
    mainClient() {
      const { consecutiveFailures, failuresByClient } = counts;
      const outcomes = counts.outcomes.now + counts.outcomes.before;
      const failures = counts.failures.now + counts.failures.before;
      const areConsecutive = consecutiveFailures >= settings.consecutiveFailuresMax;
      for (const [clientId, { consecutive, now, before }] of failuresByClient) {
        const own = now + before;
        const isMain = areConsecutive ? consecutive * 2 > consecutiveFailures : own * 2 > failures;
        if (isMain && !trips(consecutiveFailures - consecutive, outcomes - own, failures - own)) return clientId;
      }
      return null;
    },
    forget(clientId) {
      const own = counts.failuresByClient.get(clientId);
      if (own === undefined) return;
      counts.failuresByClient.delete(clientId);
      counts.consecutiveFailures -= own.consecutive;
      for (const each of [counts.outcomes, counts.failures]) {
        each.now -= own.now;
        each.before -= own.before;
      }
    },
    reset() {
      counts.consecutiveFailures = counts.consecutiveThrottled = counts.consecutiveRejections = 0;
      counts.outcomes = { now: 0, before: 0 };
      counts.failures = { now: 0, before: 0 };
      counts.failuresByClient.clear();
    },
  };
}

function moveWindow(counts: Counts, halfMs: number, nowMs: number): void {
  const isNext = nowMs < counts.halfEndsMs + halfMs;
  for (const each of [counts.outcomes, counts.failures, ...counts.failuresByClient.values()]) {
    each.before = isNext ? each.now : 0;
    each.now = 0;
  }
  for (const [clientId, { before, consecutive }] of counts.failuresByClient)
    if (before === 0 && consecutive === 0) counts.failuresByClient.delete(clientId);
  counts.halfEndsMs = nowMs + halfMs;
}

function countFailure(counts: Counts, outcome: BreakerOutcome, clientId: string | null): void {
  counts.failures.now += 1;
  // Inquiries that were sent together fail together. They count as consecutive only when the bank was silent since.
  const consecutive = outcome === 'failure' ? 1 : 0;
  counts.consecutiveFailures += consecutive;
  if (clientId === null) return;
  const own = counts.failuresByClient.get(clientId) ?? { consecutive: 0, now: 0, before: 0 };
  own.now += 1;
  own.consecutive += consecutive;
  counts.failuresByClient.set(clientId, own);
}

function endConsecutiveFailures(counts: Counts): void {
  if (counts.consecutiveFailures > 0) for (const own of counts.failuresByClient.values()) own.consecutive = 0;
  counts.consecutiveFailures = 0;
}
