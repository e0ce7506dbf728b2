import type { AccountInquiry, InquiryOutcome, NotSentReason, NoVerdictReason, Rail } from '../rail.ts';
import { createBulkhead } from './bulkhead.ts';
import { type BreakerOutcome, type BreakerState, createCircuitBreaker } from './circuit-breaker.ts';
import type { ConnectionGuard } from './connection-guard.ts';
import { createFailingAccounts } from './failing-accounts.ts';
import { createLatencies, type Latencies } from './latencies.ts';
import { createRecentFailures, type RecentFailure } from './recent-failures.ts';
import { createRetryBudget, type RetryBudget } from './retry-budget.ts';
import type { Protection } from './settings.ts';

/** One bank as asked over one rail, with what keeps the two from hurting each other and everybody else. */
export interface GuardedRail {
  readonly rail: Rail;
  readonly latencies: Latencies;
  readonly retryBudget: RetryBudget;
  readonly hedgeBudget: RetryBudget;
  /** Why no question may go out now; null when one may. */
  notSentReason(nowMs: number): NotSentReason | null;
  /** How long until one may; 0 when one may now. */
  waitMs(nowMs: number): number;
  /** How many questions may go out now that can wait. */
  spareCapacity(nowMs: number): number;
  /** A question goes out, which nothing refuses; whether it is the breaker's probe. */
  begin(nowMs: number): boolean;
  end(isProbe: boolean, inquiry: AccountInquiry, outcome: InquiryOutcome, tookMs: number, nowMs: number): void;
  /** A question ended of which nothing can be learnt but how long it took at least, if that. */
  release(isProbe: boolean, tookMs: number | null, nowMs: number): void;
  snapshot(nowMs: number): GuardedRailSnapshot;
}

export interface GuardedRailSnapshot {
  readonly state: BreakerState;
  /** It is open only because the bank asked for fewer questions. */
  readonly isThrottled: boolean;
  /** ISO 8601 UTC; null when it has never changed. */
  readonly since: string | null;
  /** How long until it is asked again. */
  readonly waitMs: number;
  readonly inFlight: number;
  readonly answers: number;
  /** How long ago it gave its last verdict; null when it has given none. */
  readonly lastVerdictAgoMs: number | null;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly recentFailures: readonly RecentFailure[];
}

export interface GuardedRailDependencies {
  readonly connection: ConnectionGuard;
  readonly protection: Protection;
  readonly wallMs: () => number;
  readonly onState: (state: BreakerState) => void;
}

/** A place is free as soon as an answer comes, which at a bank that answers is soon. */
const BUSY_WAIT_MS = 1_000;
/** More would make a burst of what shall be spread. */
const RETRIES_SAVED_MAX = 10;
const HEDGES_SAVED_MAX = 10;

export function createGuardedRail({ connection, protection, wallMs, onState }: GuardedRailDependencies): GuardedRail {
  const { rail, quota, bulkhead: all } = connection;
  const bulkhead = createBulkhead(Math.min(protection.concurrencyMax, connection.slotsPerBank));
  const latencies = createLatencies();
  const reasons = createRecentFailures(wallMs);
  let since: string | null = null;
  const suspects = createFailingAccounts();
  const breaker = createCircuitBreaker(protection.breaker, (state) => {
    // Whoever brought the bank down may do so once more.
    if (state === 'closed') suspects.clear();
    since = new Date(wallMs()).toISOString();
    onState(state);
  });
  let answeredMs: number | null = null;

  function leave(): void {
    bulkhead.leave();
    all?.leave();
  }

  /**
   * Whether this failure is news. A few accounts that a bank stumbles over must not close the way to all others: banks
   * say of such an account, too, that they are unavailable. Without a connection, or without a contract, it cannot be the account.
   */
  const isNews = (reason: NoVerdictReason, { accountNumber }: AccountInquiry): boolean =>
    reason === 'unreachable' || reason === 'credentials_rejected' || suspects.add(accountNumber.reveal());

  /** A probe always says something, or a bank that goes on failing over one account would never be given its rest. */
  function healthAfter(
    outcome: InquiryOutcome,
    inquiry: AccountInquiry,
    isProbe: boolean,
    askedMs: number,
  ): BreakerOutcome {
    if (outcome.kind === 'verdict') return 'answered';
    reasons.record(outcome.reason, outcome.railCode);
    // Whoever finds fault with a question has read it. Clients choose the questions: they must not close the way to a bank.
    if (outcome.reason === 'rejected_by_bank') return 'answered';
    if (outcome.reason === 'throttled') return 'throttled';
    if (!isNews(outcome.reason, inquiry) && !isProbe) return 'nothing';
    if (outcome.reason === 'credentials_rejected') return 'credentials_rejected';
    return answeredMs !== null && answeredMs > askedMs ? 'failed_meanwhile' : 'failed';
  }

  const isFull = (): boolean => bulkhead.isFull() || (all !== null && all.isFull());

  return {
    rail,
    latencies,
    retryBudget: createRetryBudget(protection.retryOneIn, RETRIES_SAVED_MAX),
    hedgeBudget: createRetryBudget(protection.hedgeOneIn, HEDGES_SAVED_MAX),
    notSentReason(nowMs) {
      if (breaker.waitMs(nowMs) > 0) return 'circuit_open';
      if (isFull()) return 'bulkhead_full';
      return quota !== null && quota.waitMs(nowMs) > 0 ? 'quota_exhausted' : null;
    },
    waitMs: (nowMs) =>
      Math.max(breaker.waitMs(nowMs), isFull() ? BUSY_WAIT_MS : 0, quota === null ? 0 : quota.waitMs(nowMs)),
    spareCapacity(nowMs) {
      if (breaker.waitMs(nowMs) > 0) return 0;
      const places = Math.min(bulkhead.spareCapacity(), all === null ? Number.POSITIVE_INFINITY : all.spareCapacity());
      const room = quota === null ? places : Math.min(places, quota.spareCapacity(nowMs));
      // A bank that is being tried again gets one question.
      return breaker.state() === 'closed' ? room : Math.min(room, 1);
    },
    begin(nowMs) {
      bulkhead.enter();
      all?.enter();
      quota?.take(nowMs);
      return breaker.begin();
    },
    end(isProbe, inquiry, outcome, tookMs, nowMs) {
      leave();
      if (outcome.kind === 'verdict') answeredMs = nowMs;
      // How fast a refusal came says nothing about how long an answer takes.
      if (outcome.kind === 'verdict' || outcome.reason === 'timeout') latencies.record(tookMs);
      breaker.end(isProbe, healthAfter(outcome, inquiry, isProbe, nowMs - tookMs), nowMs);
    },
    release(isProbe, tookMs, nowMs) {
      leave();
      if (tookMs !== null) latencies.record(tookMs);
      breaker.end(isProbe, 'nothing', nowMs);
    },
    snapshot: (nowMs) => ({
      state: breaker.state(),
      isThrottled: breaker.isThrottled(),
      since,
      waitMs: breaker.waitMs(nowMs),
      inFlight: bulkhead.inFlight(),
      answers: latencies.count(),
      lastVerdictAgoMs: answeredMs === null ? null : nowMs - answeredMs,
      p50Ms: latencies.quantile(0.5),
      p95Ms: latencies.quantile(0.95),
      recentFailures: reasons.list(),
    }),
  };
}
