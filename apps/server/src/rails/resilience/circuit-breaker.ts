/**
 * Whether a bank is asked at all.
 *
 * - closed: it is asked.
 * - open: it has failed too often, and is given a rest.
 * - half open: the rest is over; one question, the probe, goes out, and its answer decides.
 */
export type BreakerState = 'closed' | 'half_open' | 'open';

/**
 * What an answer says about the bank; `nothing` when nobody waited for it any more. `failed_meanwhile`: the bank answered somebody else
 * while this question was with it.
 */
export type BreakerOutcome =
  | 'answered'
  | 'failed'
  | 'failed_meanwhile'
  | 'throttled'
  | 'credentials_rejected'
  | 'nothing';

export interface BreakerSettings {
  /** So many failures without an answer between them open it. */
  readonly consecutiveFailuresMax: number;
  /** Of at least so many answers in the window, */
  readonly windowOutcomesMin: number;
  /** this share of failures opens it. */
  readonly windowFailureRateMax: number;
  readonly windowMs: number;
  /** The first rest; each probe that fails doubles it. */
  readonly openMinMs: number;
  readonly openMaxMs: number;
  /** So many requests for fewer questions, without an answer between them, give a short rest. */
  readonly consecutiveThrottledMax: number;
  readonly throttledOpenMs: number;
  /**
   * So many refusals of the operator without an answer between them open it: now and then one may be meant for the question,
   * but a bank that refuses every question may lock the operator out in the end.
   */
  readonly consecutiveRejectionsMax: number;
}

export interface CircuitBreaker {
  state(): BreakerState;
  /** It is open only because the bank asked for fewer questions: it answers, and nobody has put another since. */
  isThrottled(): boolean;
  /** How long until a question may go out; 0 when one may now. */
  waitMs(nowMs: number): number;
  /** A question goes out, which `waitMs` allows; whether it is the probe. */
  begin(): boolean;
  end(isProbe: boolean, health: BreakerOutcome, nowMs: number): void;
}

/** While the probe is under way, nobody knows how long the rest will be; a healthy bank has answered by then. */
const PROBE_WAIT_MS = 1_000;

export function createCircuitBreaker(
  settings: BreakerSettings,
  onChange: (state: BreakerState) => void,
): CircuitBreaker {
  const { openMinMs, openMaxMs } = settings;
  let state: BreakerState = 'closed';
  let probing = false;
  let restEndsMs = 0;
  let restMs = openMinMs;
  let restsFor: BreakerOutcome = 'nothing';
  let failuresInARow = 0;
  let throttledInARow = 0;
  let refusedInARow = 0;
  // The window moves by halves, which is exact enough for a share and costs two numbers instead of a list.
  let halfEndsMs = Number.NEGATIVE_INFINITY;
  let answers = { now: 0, before: 0 };
  let failures = { now: 0, before: 0 };

  function change(next: BreakerState): void {
    state = next;
    probing = false;
    onChange(next);
  }

  function moveWindow(nowMs: number): void {
    const halfMs = settings.windowMs / 2;
    const isNext = nowMs < halfEndsMs + halfMs;
    answers = { now: 0, before: isNext ? answers.now : 0 };
    failures = { now: 0, before: isNext ? failures.now : 0 };
    halfEndsMs = nowMs + halfMs;
  }

  function rest(ms: number, reason: BreakerOutcome, nowMs: number): void {
    restEndsMs = nowMs + ms;
    restsFor = reason;
    change('open');
  }

  function close(): void {
    restMs = openMinMs;
    failuresInARow = throttledInARow = refusedInARow = 0;
    answers = { now: 0, before: 0 };
    failures = { now: 0, before: 0 };
    change('closed');
  }

  function endProbe(health: BreakerOutcome, nowMs: number): void {
    probing = false;
    if (health === 'answered' || health === 'credentials_rejected') close();
    else if (health === 'throttled') rest(settings.throttledOpenMs, health, nowMs);
    else if (health === 'failed' || health === 'failed_meanwhile') {
      restMs = Math.min(restMs * 2, openMaxMs);
      rest(restMs, health, nowMs);
    }
  }

  function isTooMuch(): boolean {
    const all = answers.now + answers.before;
    const share = (failures.now + failures.before) / all;
    const isOften = all >= settings.windowOutcomesMin && share >= settings.windowFailureRateMax;
    return failuresInARow >= settings.consecutiveFailuresMax || isOften;
  }

  return {
    state: () => state,
    isThrottled: () => state === 'open' && restsFor === 'throttled',
    waitMs(nowMs) {
      if (state === 'closed') return 0;
      if (probing) return PROBE_WAIT_MS;
      return state === 'open' ? Math.max(restEndsMs - nowMs, 0) : 0;
    },
    begin() {
      if (state === 'closed') return false;
      if (state === 'open') change('half_open');
      probing = true;
      return true;
    },
    end(isProbe, health, nowMs) {
      if (isProbe) return endProbe(health, nowMs);
      // What went out before the rest says nothing new about the bank.
      if (state !== 'closed' || health === 'nothing') return;
      if (nowMs >= halfEndsMs) moveWindow(nowMs);
      if (health === 'throttled') {
        throttledInARow += 1;
        if (throttledInARow >= settings.consecutiveThrottledMax) rest(settings.throttledOpenMs, health, nowMs);
        return;
      }
      answers.now += 1;
      throttledInARow = 0;
      if (health !== 'failed' && health !== 'failed_meanwhile') {
        failuresInARow = 0;
        refusedInARow = health === 'credentials_rejected' ? refusedInARow + 1 : 0;
        if (refusedInARow >= settings.consecutiveRejectionsMax) rest(restMs, health, nowMs);
        return;
      }
      failures.now += 1;
      // Questions that went out together end together. They are a row only when the bank has said nothing since.
      if (health === 'failed') failuresInARow += 1;
      if (isTooMuch()) rest(restMs, health, nowMs);
    },
  };
}
