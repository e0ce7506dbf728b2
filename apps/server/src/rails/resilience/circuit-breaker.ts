/**
 * The circuit breaker of one bank on one rail.
 *
 * - closed: inquiries are sent.
 * - open: the bank failed too often; no inquiry is sent until the open time has passed.
 * - half open: the open time has passed; one inquiry, the probe, is sent. Its outcome closes or reopens the breaker.
 */
export type BreakerState = 'closed' | 'half_open' | 'open';

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

export interface CircuitBreaker {
  state(): BreakerState;
  /** It is open only because the bank asked for fewer inquiries: the bank answers, and none was sent since. */
  isThrottled(): boolean;
  /** How long until an inquiry may be sent; 0 when one may be sent now. */
  waitMs(nowMs: number): number;
  /** Call only when `waitMs` is 0. Returns whether the inquiry is the probe. */
  begin(): boolean;
  end(isProbe: boolean, outcome: BreakerOutcome, nowMs: number): void;
}

/** The wait while the probe is in flight and the next open time is unknown. A healthy bank has answered by then. */
const PROBE_WAIT_MS = 1_000;

export function createCircuitBreaker(
  settings: BreakerSettings,
  onChange: (state: BreakerState) => void,
): CircuitBreaker {
  const { openMinMs, openMaxMs, throttledOpenMs } = settings;
  const counters = createOutcomeCounters(settings);
  let state: BreakerState = 'closed';
  let isProbing = false;
  let openUntilMs = 0;
  let openMs = openMinMs;
  let openReason: BreakerOutcome = 'ignored';

  function change(next: BreakerState): void {
    state = next;
    isProbing = false;
    onChange(next);
  }

  function open(reason: BreakerOutcome, nowMs: number): void {
    openUntilMs = nowMs + (reason === 'throttled' ? throttledOpenMs : openMs);
    openReason = reason;
    change('open');
  }

  function close(): void {
    openMs = openMinMs;
    counters.reset();
    change('closed');
  }

  function endProbe(outcome: BreakerOutcome, nowMs: number): void {
    isProbing = false;
    if (outcome === 'ignored') return;
    if (outcome === 'success' || outcome === 'credentials_rejected') return close();
    if (outcome !== 'throttled') openMs = Math.min(openMs * 2, openMaxMs);
    open(outcome, nowMs);
  }

  return {
    state: () => state,
    isThrottled: () => state === 'open' && openReason === 'throttled',
    waitMs(nowMs) {
      if (state === 'closed') return 0;
      if (isProbing) return PROBE_WAIT_MS;
      return state === 'open' ? Math.max(openUntilMs - nowMs, 0) : 0;
    },
    begin() {
      if (state === 'closed') return false;
      if (state === 'open') change('half_open');
      isProbing = true;
      return true;
    },
    end(isProbe, outcome, nowMs) {
      if (isProbe) return endProbe(outcome, nowMs);
      // An inquiry that was sent before the breaker opened says nothing new about the bank.
      if (state !== 'closed' || outcome === 'ignored') return;
      if (counters.record(outcome, nowMs)) open(outcome, nowMs);
    },
  };
}

interface OutcomeCounters {
  /** Returns whether the outcome trips the breaker. */
  record(outcome: BreakerOutcome, nowMs: number): boolean;
  reset(): void;
}

/** Counts the outcomes while the breaker is closed: consecutive ones, and the failure rate in the window. */
function createOutcomeCounters(settings: BreakerSettings): OutcomeCounters {
  let consecutiveFailures = 0;
  let consecutiveThrottled = 0;
  let consecutiveRejections = 0;
  // The window moves by halves, which is exact enough for a rate and costs two numbers instead of a list.
  let halfEndsMs = Number.NEGATIVE_INFINITY;
  let outcomes = { now: 0, before: 0 };
  let failures = { now: 0, before: 0 };

  function moveWindow(nowMs: number): void {
    const halfMs = settings.windowMs / 2;
    const isNext = nowMs < halfEndsMs + halfMs;
    outcomes = { now: 0, before: isNext ? outcomes.now : 0 };
    failures = { now: 0, before: isNext ? failures.now : 0 };
    halfEndsMs = nowMs + halfMs;
  }

  function isFailureRateExceeded(): boolean {
    const all = outcomes.now + outcomes.before;
    const rate = (failures.now + failures.before) / all;
    return all >= settings.windowOutcomesMin && rate >= settings.windowFailureRateMax;
  }

  return {
    record(outcome, nowMs) {
      if (nowMs >= halfEndsMs) moveWindow(nowMs);
      if (outcome === 'throttled') {
        consecutiveThrottled += 1;
        return consecutiveThrottled >= settings.consecutiveThrottledMax;
      }
      outcomes.now += 1;
      consecutiveThrottled = 0;
      if (outcome !== 'failure' && outcome !== 'overlapping_failure') {
        consecutiveFailures = 0;
        consecutiveRejections = outcome === 'credentials_rejected' ? consecutiveRejections + 1 : 0;
        return consecutiveRejections >= settings.consecutiveRejectionsMax;
      }
      failures.now += 1;
      // Inquiries that were sent together fail together. They count as consecutive only when the bank was silent since.
      if (outcome === 'failure') consecutiveFailures += 1;
      return consecutiveFailures >= settings.consecutiveFailuresMax || isFailureRateExceeded();
    },
    reset() {
      consecutiveFailures = consecutiveThrottled = consecutiveRejections = 0;
      outcomes = { now: 0, before: 0 };
      failures = { now: 0, before: 0 };
    },
  };
}
