import type { AccountInquiry, ClientInquiry, InquiryOutcome, NotSentReason, Rail } from '../rail.ts';
import type { BreakerOutcome } from './breaker-outcomes.ts';
import { type BreakerListener, type BreakerState, createCircuitBreaker } from './circuit-breaker.ts';
import type { InquiryCounts } from './inquiry-counts.ts';
import { type ConnectionGuard, createBulkhead, createRetryBudget, type RetryBudget } from './limits.ts';
import type { Quota } from './quota.ts';
import {
  createFailingAccounts,
  createLatencies,
  createRecentFailures,
  type Latencies,
  type RecentFailure,
  type RecentFailures,
} from './recent-outcomes.ts';
import type { Protection } from './settings.ts';
import { createSharedFindings, type SharedFindings } from './shared-findings.ts';

/** One bank over one rail, with the circuit breaker and the limits that protect the bank and the other banks. */
export interface GuardedRail extends Pick<SharedFindings, 'finding' | 'learn'> {
  readonly rail: Rail;
  readonly latencies: Latencies;
  readonly counts: Pick<InquiryCounts, 'recordNotSent'>;
  /** Counts an inquiry in the shared quota before it is sent; null where there is none. False: it must not be sent. */
  readonly reserve: (() => Promise<boolean>) | null;
  readonly retryBudget: RetryBudget;
  readonly hedgeBudget: RetryBudget;
  /** Why no inquiry of this client may be sent now (null: of any client); null when one may. */
  notSentReason(clientId: string | null, nowMs: number): NotSentReason | null;
  /** Whether this client alone is suspended: the bank fails over the accounts that it chooses. */
  isSuspended(clientId: string, nowMs: number): boolean;
  /** How long until an inquiry of this client may be sent; 0 when one may be sent now. */
  waitMs(clientId: string, nowMs: number): number;
  /** How many inquiries that can wait may be sent now. */
  spareCapacity(nowMs: number): number;
  /** Call only when `notSentReason` is null. Returns whether the inquiry is the circuit breaker's probe. */
  begin(inquiry: ClientInquiry, nowMs: number): boolean;
  end(isProbe: boolean, inquiry: ClientInquiry, outcome: InquiryOutcome, tookMs: number, nowMs: number): void;
  /** An inquiry ended without an outcome. `tookMs` is the least that it would have taken, where that is known. */
  release(isProbe: boolean, inquiry: ClientInquiry, tookMs: number | null, nowMs: number): void;
  snapshot(nowMs: number): GuardedRailSnapshot;
}

export interface GuardedRailSnapshot {
  readonly state: BreakerState;
  /** The breaker is open only because the bank asked for fewer inquiries. */
  readonly isThrottled: boolean;
  /** The bank has answered another process since the breaker opened here. */
  readonly answersOthers: boolean;
  /**
   * Since when the breaker has been closed, or has not been: probes that fail do not change it. ISO 8601 UTC; null when
   * the state has never changed.
   */
  readonly since: string | null;
  /** How long until an inquiry may be sent. */
  readonly waitMs: number;
  readonly inFlight: number;
  /** The verdicts among the recent inquiries. p50 and p95 are also from those that timed out or were cancelled. */
  readonly answers: number;
  /** The age of its last verdict; null when there is none. */
  readonly lastVerdictAgoMs: number | null;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly recentFailures: readonly RecentFailure[];
}

export interface GuardedRailDependencies {
  readonly connection: ConnectionGuard;
  readonly protection: Protection;
  readonly wallMs: () => number;
  readonly listener: BreakerListener;
  readonly counts: InquiryCounts;
}

/** A slot is free again as soon as a reply comes, and a healthy bank replies soon. */
const FULL_WAIT_MS = 1_000;
/** More would allow a burst of the inquiries that the budget is meant to spread. */
const RETRIES_SAVED_MAX = 10;
const HEDGES_SAVED_MAX = 10;

export function createGuardedRail(dependencies: GuardedRailDependencies): GuardedRail {
  const { connection, protection, wallMs, listener, counts } = dependencies;
  const { rail, quota } = connection;
  const slots = createSlots(connection, protection);
  const latencies = createLatencies();
  const failures = createRecentFailures(wallMs);
  const classifier = createOutcomeClassifier(failures);
  const stateTime = createStateTime(wallMs);
  const breaker = createCircuitBreaker(protection.breaker, {
    onState(state, opening) {
      if (state === 'closed') classifier.forgetFailingAccounts();
      stateTime.change(state, breaker.failing() !== null);
      listener.onState(state, opening);
    },
    onSuspended: listener.onSuspended,
  });
  const findings = createSharedFindings(breaker);

  return {
    rail,
    reserve: connection.reserve,
    latencies,
    counts,
    retryBudget: createRetryBudget(protection.retryOneIn, RETRIES_SAVED_MAX),
    hedgeBudget: createRetryBudget(protection.hedgeOneIn, HEDGES_SAVED_MAX),
    notSentReason(clientId, nowMs) {
      if (breaker.waitMs(clientId, nowMs) > 0) return 'circuit_open';
      if (slots.isFull(clientId, nowMs)) return 'bulkhead_full';
      return quotaWaitMs(quota, nowMs) > 0 ? 'quota_exhausted' : null;
    },
    isSuspended: (clientId, nowMs) => breaker.suspendedMs(clientId, nowMs) > 0,
    waitMs: (clientId, nowMs) =>
      Math.max(breaker.waitMs(clientId, nowMs), slots.waitMs(clientId, nowMs), quotaWaitMs(quota, nowMs)),
    spareCapacity: (nowMs) =>
      breaker.waitMs(null, nowMs) > 0 ? 0 : capacityIn(breaker.state(), slots.spareCapacity(), quota, nowMs),
    begin({ clientId }, nowMs) {
      slots.enter(clientId);
      quota?.take(nowMs);
      return breaker.begin();
    },
    end(isProbe, inquiry, outcome, tookMs, nowMs) {
      slots.leave(inquiry.clientId);
      counts.record(outcome, tookMs);
      // The duration of a rejection says nothing about how long a verdict takes.
      if (outcome.kind === 'verdict' || outcome.reason === 'timeout')
        latencies.record(tookMs, outcome.kind === 'verdict');
      const evidence = classifier.classify(outcome, inquiry, isProbe, nowMs - tookMs, nowMs);
      breaker.end(isProbe, evidence, isOfConnection(outcome) ? null : inquiry.clientId, nowMs);
    },
    release(isProbe, inquiry, tookMs, nowMs) {
      slots.leave(inquiry.clientId);
      if (tookMs !== null) latencies.record(tookMs, false);
      breaker.end(isProbe, 'ignored', inquiry.clientId, nowMs);
    },
    snapshot: (nowMs) => ({
      state: breaker.state(),
      isThrottled: breaker.isThrottled(),
      answersOthers: findings.answersOthers(),
      since: stateTime.since(),
      waitMs: breaker.waitMs(null, nowMs),
      inFlight: slots.inFlight(),
      answers: latencies.answers(),
      lastVerdictAgoMs: classifier.lastVerdictAgoMs(nowMs),
      p50Ms: latencies.quantile(0.5),
      p95Ms: latencies.quantile(0.95),
      recentFailures: failures.list(),
    }),
    ...findings,
  };
}

/**
 * Since when a breaker has been closed, or has not been. An outage has one beginning, however many probes fail; only a
 * failure after a mere suspicion or pause begins it anew.
 */
function createStateTime(wallMs: () => number) {
  let latest: { readonly isClosed: boolean; readonly isFailing: boolean; readonly since: string } | null = null;
  return {
    change(state: BreakerState, isFailing: boolean): void {
      const isClosed = state === 'closed';
      if (latest === null || isClosed || latest.isClosed || latest.isFailing !== isFailing)
        latest = { isClosed, isFailing, since: new Date(wallMs()).toISOString() };
    },
    since: (): string | null => latest?.since ?? null,
  };
}

/** The bank's own slots on the rail, and those that all banks of the connection share. */
function createSlots({ bulkhead: shared, slotsPerBank, liveProcesses }: ConnectionGuard, protection: Protection) {
  const own = createBulkhead(Math.min(protection.concurrencyMax, slotsPerBank), liveProcesses);
  const isFull = (clientId: string | null, nowMs: number): boolean =>
    own.isFull(clientId, nowMs) || (shared !== null && shared.isFull(clientId, nowMs));
  return {
    inFlight: own.inFlight,
    isFull,
    waitMs: (clientId: string, nowMs: number): number => (isFull(clientId, nowMs) ? FULL_WAIT_MS : 0),
    spareCapacity: (): number => Math.min(own.spareCapacity(), shared?.spareCapacity() ?? Number.POSITIVE_INFINITY),
    enter(clientId: string): void {
      own.enter(clientId);
      shared?.enter(clientId);
    },
    leave(clientId: string): void {
      own.leave(clientId);
      shared?.leave(clientId);
    },
  };
}

/** While the breaker is not closed, the probe is the only inquiry. */
function capacityIn(state: BreakerState, slots: number, quota: Quota | null, nowMs: number): number {
  const capacity = Math.min(slots, quota?.spareCapacity(nowMs) ?? Number.POSITIVE_INFINITY);
  return state === 'closed' ? capacity : Math.min(capacity, 1);
}

const quotaWaitMs = (quota: Quota | null, nowMs: number): number => (quota === null ? 0 : quota.waitMs(nowMs));

/** Whether the connection or the credentials fail, whatever account a client chose. */
const isOfConnection = (outcome: InquiryOutcome): boolean =>
  outcome.kind === 'no_verdict' && (outcome.reason === 'unreachable' || outcome.reason === 'credentials_rejected');

interface OutcomeClassifier {
  /** Classifies the outcome for the breaker, and records it when it is a failure. */
  classify(
    outcome: InquiryOutcome,
    inquiry: AccountInquiry,
    isProbe: boolean,
    sentMs: number,
    nowMs: number,
  ): BreakerOutcome;
  lastVerdictAgoMs(nowMs: number): number | null;
  /** The accounts that opened the breaker may open it again. */
  forgetFailingAccounts(): void;
}

function createOutcomeClassifier(failures: RecentFailures): OutcomeClassifier {
  const failingAccounts = createFailingAccounts();
  let lastVerdictMs: number | null = null;
  return {
    classify(outcome, { accountNumber }, isProbe, sentMs, nowMs) {
      if (outcome.kind === 'verdict') {
        lastVerdictMs = nowMs;
        return 'success';
      }
      const { reason } = outcome;
      failures.record(reason, outcome.railCode);
      // A bank that rejects an inquiry has read it. Clients choose the account numbers: they must not open the breaker.
      if (reason === 'rejected_by_bank') return 'success';
      // Nothing was sent.
      if (reason === 'not_supported') return 'ignored';
      if (reason === 'throttled') return 'throttled';
      // A few accounts over which a bank fails must not open the breaker for all others: banks report themselves as
      // unavailable for such an account too. Where the connection or the credentials fail, the account is not the
      // cause.
      const counts = isOfConnection(outcome) || failingAccounts.add(accountNumber.reveal());
      // A probe always counts. Otherwise a bank that fails over one account again and again would not be given a pause.
      if (!counts && !isProbe) return 'ignored';
      if (reason === 'credentials_rejected') return 'credentials_rejected';
      return lastVerdictMs !== null && lastVerdictMs > sentMs ? 'overlapping_failure' : 'failure';
    },
    lastVerdictAgoMs: (nowMs) => (lastVerdictMs === null ? null : nowMs - lastVerdictMs),
    forgetFailingAccounts: () => failingAccounts.clear(),
  };
}
