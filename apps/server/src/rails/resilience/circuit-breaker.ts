import {
  type BreakerOutcome,
  type BreakerSettings,
  createOutcomeCounters,
  isFailure,
  type OutcomeCounters,
} from './breaker-outcomes.ts';
import { createLatestClients, type LatestClients } from './latest-clients.ts';

/**
 * The circuit breaker of one bank on one rail.
 *
 * - closed: inquiries are sent.
 * - open: the bank failed too often; no inquiry is sent until the open time has passed.
 * - half open: the open time has passed, or another process reports that the bank fails; one inquiry, the probe, is
 *   sent. Its outcome closes or reopens the breaker.
 *
 * Failures count for each client, because clients choose the accounts over which a bank fails. When most failures are
 * those of one client, and the others alone would not open the breaker:
 *
 * - If another client had a verdict within the window, only that client is suspended.
 * - Otherwise the breaker opens, and the next inquiry of another client is the probe, at once: if it succeeds, the
 *   breaker closes and only the first client is suspended.
 */
export type BreakerState = 'closed' | 'half_open' | 'open';

export interface CircuitBreaker {
  state(): BreakerState;
  /** It is open only because the bank asked for fewer inquiries: the bank answers, and none was sent since. */
  isThrottled(): boolean;
  /** How long until an inquiry of this client (null: of any client) may be sent; 0 when one may be sent now. */
  waitMs(clientId: string | null, nowMs: number): number;
  /** How long this client alone is suspended; 0 when it is not. */
  suspendedMs(clientId: string, nowMs: number): number;
  /** Call only when `waitMs` is 0. Returns whether the inquiry is the probe. */
  begin(): boolean;
  /** Since when the breaker has not been closed because of failures, and over whose inquiries; null: it is closed. */
  failing(): BreakerFailing | null;
  /** When an inquiry last succeeded; -Infinity if none did. */
  lastSuccessMs(): number;
  /**
   * Another process reports that the bank fails, over the inquiries of this client or (null) of several. If the breaker
   * is closed, the next inquiry is the probe, and its failure opens the breaker.
   */
  suspect(clientId: string | null): void;
  /** Ends what `suspect` began, unless an inquiry has begun. */
  trust(): void;
  /** The bank has answered another process at this time. If that is later than the last failure, the probe may go. */
  allowProbe(answeredMs: number): void;
  /** `clientId` is null when the outcome cannot be due to the accounts that a client chose. */
  end(isProbe: boolean, outcome: BreakerOutcome, clientId: string | null, nowMs: number): void;
}

export interface BreakerFailing {
  readonly sinceMs: number;
  /** The only client whose failures opened the breaker; null when they were those of several. */
  readonly clientId: string | null;
}

/** Why inquiries are paused, and for how long. */
export interface BreakerOpening {
  /** The breaker was open before: its probe failed. */
  readonly isProbeFailure: boolean;
  /** How long until the next probe. */
  readonly probeInMs: number;
}

export interface BreakerListener {
  /** `opening` is null unless the state is `open`. */
  onState(state: BreakerState, opening: BreakerOpening | null): void;
  onSuspended(clientId: string, suspendedMs: number): void;
}

/** The wait while the probe is in flight and the next open time is unknown. A healthy bank has answered by then. */
const PROBE_WAIT_MS = 1_000;

export function createCircuitBreaker(settings: BreakerSettings, listener: BreakerListener): CircuitBreaker {
  const breaker: Breaker = {
    settings,
    listener,
    counters: createOutcomeCounters(settings),
    suspensions: createSuspensions(settings),
    answered: createLatestClients(),
    state: 'closed',
    isProbing: false,
    openUntilMs: 0,
    openMs: settings.openMinMs,
    openReason: 'ignored',
    soleClient: null,
    isSuspected: false,
    failingSinceMs: null,
    lastFailureMs: Number.NEGATIVE_INFINITY,
    lastSuccessMs: Number.NEGATIVE_INFINITY,
  };
  return {
    failing: () =>
      breaker.failingSinceMs === null ? null : { sinceMs: breaker.failingSinceMs, clientId: breaker.soleClient },
    lastSuccessMs: () => breaker.lastSuccessMs,
    suspect(clientId) {
      if (breaker.state !== 'closed') return;
      breaker.isSuspected = true;
      breaker.soleClient = clientId;
      breaker.openUntilMs = Number.NEGATIVE_INFINITY;
      change(breaker, 'half_open');
    },
    trust() {
      if (breaker.isSuspected && !breaker.isProbing) close(breaker);
    },
    allowProbe(answeredMs) {
      if (breaker.failingSinceMs !== null && answeredMs > breaker.lastFailureMs)
        breaker.openUntilMs = Math.min(breaker.openUntilMs, answeredMs);
    },
    state: () => breaker.state,
    isThrottled: () => breaker.state === 'open' && breaker.openReason === 'throttled',
    suspendedMs: breaker.suspensions.leftMs,
    waitMs: (clientId, nowMs) => waitMs(breaker, clientId, nowMs),
    begin() {
      if (breaker.state === 'closed') return false;
      if (breaker.state === 'open') change(breaker, 'half_open');
      breaker.isProbing = true;
      return true;
    },
    end(isProbe, outcome, clientId, nowMs) {
      const { answered, suspensions, counters } = breaker;
      if (outcome === 'success') {
        breaker.lastSuccessMs = nowMs;
        if (clientId !== null) {
          answered.saw(clientId, nowMs);
          suspensions.deleteEnded(clientId, nowMs);
        }
      }
      if (isProbe) return endProbe(breaker, outcome, clientId, nowMs);
      // The bank answers this process, whatever another one reports.
      if (breaker.isSuspected && outcome === 'success' && !breaker.isProbing) return close(breaker);
      // An inquiry that was sent before the breaker opened says nothing new about the bank.
      if (breaker.state !== 'closed' || outcome === 'ignored') return;
      if (clientId !== null && isFailure(outcome) && suspensions.leftMs(clientId, nowMs) > 0) return;
      if (counters.record(outcome, clientId, nowMs)) onTripped(breaker, outcome, nowMs);
    },
  };
}

interface Breaker {
  readonly settings: BreakerSettings;
  readonly listener: BreakerListener;
  readonly counters: OutcomeCounters;
  readonly suspensions: ReturnType<typeof createSuspensions>;
  /** The clients with verdicts. */
  readonly answered: LatestClients;
  state: BreakerState;
  isProbing: boolean;
  openUntilMs: number;
  openMs: number;
  openReason: BreakerOutcome;
  /** The only client whose failures opened the breaker; null when they were those of several. */
  soleClient: string | null;
  /** Half open because another process reports that the bank fails. */
  isSuspected: boolean;
  /** When failures opened the breaker; null while it is closed. Probes that fail do not change it. */
  failingSinceMs: number | null;
  /** When the breaker was last opened because of failures. */
  lastFailureMs: number;
  lastSuccessMs: number;
}

function waitMs(breaker: Breaker, clientId: string | null, nowMs: number): number {
  const { state, isProbing, soleClient, openUntilMs } = breaker;
  if (isProbing) return PROBE_WAIT_MS;
  const suspendedMs = clientId === null ? 0 : breaker.suspensions.leftMs(clientId, nowMs);
  const isOpenToOthers = state === 'closed' || (clientId !== null && soleClient !== null && clientId !== soleClient);
  return isOpenToOthers ? suspendedMs : Math.max(openUntilMs - nowMs, suspendedMs);
}

function change(breaker: Breaker, state: BreakerState, opening: BreakerOpening | null = null): void {
  breaker.state = state;
  breaker.isProbing = false;
  breaker.listener.onState(state, opening);
}

function close(breaker: Breaker): void {
  breaker.isSuspected = false;
  breaker.failingSinceMs = null;
  breaker.openMs = breaker.settings.openMinMs;
  breaker.counters.reset();
  change(breaker, 'closed');
}

function open(breaker: Breaker, reason: BreakerOutcome, soleClient: string | null, nowMs: number): void {
  // The probe of a breaker that is suspected is the first inquiry that failed here.
  const isProbeFailure = breaker.state === 'half_open' && !breaker.isSuspected;
  const probeInMs = reason === 'throttled' ? breaker.settings.throttledOpenMs : breaker.openMs;
  breaker.isSuspected = false;
  if (reason !== 'throttled') {
    breaker.failingSinceMs ??= nowMs;
    breaker.lastFailureMs = nowMs;
  }
  breaker.soleClient = soleClient;
  breaker.openUntilMs = nowMs + probeInMs;
  breaker.openReason = reason;
  change(breaker, 'open', { isProbeFailure, probeInMs });
}

function suspend({ counters, listener, suspensions }: Breaker, clientId: string, nowMs: number): void {
  counters.forget(clientId);
  listener.onSuspended(clientId, suspensions.add(clientId, nowMs));
}

/** Opens the breaker, or suspends the one client whose failures would do so. */
function onTripped(breaker: Breaker, outcome: BreakerOutcome, nowMs: number): void {
  const { counters, answered, suspensions, settings } = breaker;
  const client = isFailure(outcome) ? counters.mainClient() : null;
  const othersAreAnswered = client !== null && nowMs - answered.lastOtherMs(client) <= settings.windowMs;
  // Two clients that would be suspended at the same time are evidence about the bank.
  if (othersAreAnswered && !suspensions.hasOther(client, nowMs)) suspend(breaker, client, nowMs);
  else open(breaker, outcome, client, nowMs);
}

function endProbe(breaker: Breaker, outcome: BreakerOutcome, clientId: string | null, nowMs: number): void {
  const { settings, soleClient, isSuspected } = breaker;
  breaker.isProbing = false;
  if (outcome === 'ignored') return;
  if (!isClosedBy(outcome, isSuspected)) {
    if (outcome !== 'throttled' && !isSuspected) breaker.openMs = Math.min(breaker.openMs * 2, settings.openMaxMs);
    open(breaker, outcome, clientId === soleClient ? soleClient : null, nowMs);
    return;
  }
  close(breaker);
  // Another process's failures are no evidence that this process would fail over the client's accounts.
  if (outcome === 'success' && !isSuspected && soleClient !== null && clientId !== soleClient)
    suspend(breaker, soleClient, nowMs);
}

/** Whether this outcome of the probe closes the breaker. */
function isClosedBy(outcome: BreakerOutcome, isSuspected: boolean): boolean {
  if (outcome === 'success') return true;
  // What another process reports is confirmed by rejected credentials, and not by a failure while others succeed here.
  return outcome === (isSuspected ? 'overlapping_failure' : 'credentials_rejected');
}

/**
 * The clients that are suspended, or were within the last `openMaxMs` and have had no verdict since. Each suspension in
 * a row is twice as long.
 */
function createSuspensions({ openMinMs, openMaxMs }: BreakerSettings) {
  const suspensions = new Map<string, { readonly untilMs: number; readonly lengthMs: number }>();
  const leftMs = (clientId: string, nowMs: number): number => {
    // Most banks have none, and this runs for each inquiry.
    if (suspensions.size === 0) return 0;
    return Math.max((suspensions.get(clientId)?.untilMs ?? nowMs) - nowMs, 0);
  };
  return {
    leftMs,
    /** Returns the length of the suspension. */
    add(clientId: string, nowMs: number): number {
      for (const [other, { untilMs }] of suspensions) if (nowMs - untilMs > openMaxMs) suspensions.delete(other);
      const lengthMs = Math.min((suspensions.get(clientId)?.lengthMs ?? openMinMs / 2) * 2, openMaxMs);
      suspensions.set(clientId, { untilMs: nowMs + lengthMs, lengthMs });
      return lengthMs;
    },
    hasOther: (clientId: string, nowMs: number): boolean =>
      [...suspensions].some(([other, { untilMs }]) => other !== clientId && untilMs > nowMs),
    deleteEnded(clientId: string, nowMs: number): void {
      if (suspensions.size > 0 && leftMs(clientId, nowMs) === 0) suspensions.delete(clientId);
    },
  };
}
