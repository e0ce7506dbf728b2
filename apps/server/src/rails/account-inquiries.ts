import { setTimeout as wait } from 'node:timers/promises';
import type { Bank } from '../domain/bank.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type AccountInquiry, type InquiryOutcome, NOT_SUPPORTED, type Rail } from './rail.ts';
import { type Attempt, createAttempts } from './resilience/attempts.ts';
import { ATTEMPT_MIN_MS, isRepeatable, retryDelayMs, shareOf } from './resilience/deadline-shares.ts';
import type { GuardedRail } from './resilience/guarded-rail.ts';
import { createGuards, type GuardOptions, type RailSnapshot, type Route } from './resilience/guards.ts';
import { createHedge } from './resilience/hedge.ts';

/** The caller is answered within 5 s, always (docs/contract.md 4.3; the rest is for a process that is busy. */
const INQUIRY_DEADLINE_MS = 4_000;

export interface AccountInquiries {
  /** Whether any rail leads to the bank. */
  canReach(bank: Bank): boolean;
  inquire(inquiry: AccountInquiry): Promise<InquiryOutcome>;
  /**
   * How many questions about the bank may go out now that can wait: what somebody waits for at this moment, and would
   * soon be refused, comes first. Banks behind the same rail may share what there is. `rail` is null where none leads there.
   */
  spareCapacity(bank: Bank): { readonly rail: string | null; readonly capacity: number };
  /** How the banks are, by rail. */
  snapshot(): readonly RailSnapshot[];
}

export interface AccountInquiriesOptions extends GuardOptions {
  /** Milliseconds on a clock that never jumps. */
  readonly clock?: () => number;
  /** From 0 up to 1: spreads repeated questions. */
  readonly random?: () => number;
}

/**
 * Asks the rails to a bank, first choice first, until one gives a verdict or the time is over. The same question goes
 * out only once while it is under way: whoever asks meanwhile gets the same answer, and no later than the one who asked
 * first.
 */
export function createAccountInquiries(
  rails: readonly Rail[],
  metrics: Metrics,
  options: AccountInquiriesOptions = {},
): AccountInquiries {
  const { clock = () => performance.now(), random = Math.random } = options;
  const underWay = new Map<string, Promise<InquiryOutcome>>();
  /** When a question about a bank was last refused for want of room, by its BIC. */
  const refusedMs = new Map<string, number>();
  const guards = createGuards(rails, metrics, options);
  const attempts = createAttempts(metrics, clock);
  const askHedged = createHedge({ attempts, metrics, clock });

  /** The first choice from there on that can be asked now: its index, -1 when there is none. */
  function openFrom(from: number, { rails }: Route, nowMs: number): number {
    for (let index = from; index < rails.length; index += 1) {
      const guarded = rails[index] as GuardedRail;
      const reason = guarded.notSentReason(nowMs);
      if (reason === null) return index;
      metrics.inquiriesNotSent.inc({ rail: guarded.rail.name, reason });
    }
    return -1;
  }

  /** While all is well, this is all that happens: one rail, one timer, and no promise but the rail's own. */
  async function ask(
    route: Route,
    first: number,
    inquiry: AccountInquiry,
    key: string,
    startMs: number,
  ): Promise<InquiryOutcome> {
    let nowMs = startMs;
    const endMs = nowMs + INQUIRY_DEADLINE_MS;
    let attempt: Attempt | null = null;
    let failed: InquiryOutcome = NO_RAIL;
    let repeatable: GuardedRail | null = null;
    try {
      for (let index = first; index !== -1; index = openFrom(index + 1, route, nowMs)) {
        if (endMs - nowMs < ATTEMPT_MIN_MS) break;
        const guarded = route.rails[index] as GuardedRail;
        guarded.retryBudget.earn();
        const shareMs = shareOf(endMs - nowMs, 1 + askableAfter(route, index, nowMs));
        let outcome: InquiryOutcome;
        if (route.hedge) {
          outcome = await askHedged(guarded, inquiry, shareMs, (atMs) => secondRail(route, index, atMs));
          nowMs = clock();
        } else {
          attempt = attempts.begin(guarded, inquiry, shareMs, nowMs);
          const answer = await attempt.outcome;
          nowMs = clock();
          outcome = attempts.complete(attempt, answer, nowMs);
          attempt = null;
        }
        if (outcome.kind === 'verdict') return outcome;
        failed = outcome;
        if (isRepeatable(outcome)) repeatable ??= guarded;
      }
      const repeated = repeatable === null ? null : await repeat(repeatable, inquiry, endMs);
      return withRetryAfter(repeated ?? failed, route, clock());
    } catch (error) {
      if (attempt !== null) attempts.completeWithError(attempt, clock());
      throw error;
    } finally {
      underWay.delete(key);
    }
  }

  /** Asks once more when time and budget allow; null when not. */
  async function repeat(guarded: GuardedRail, inquiry: AccountInquiry, endMs: number): Promise<InquiryOutcome | null> {
    const delayMs = retryDelayMs(random());
    const mayAsk = (): boolean =>
      endMs - clock() - delayMs >= ATTEMPT_MIN_MS && guarded.notSentReason(clock()) === null;
    if (!mayAsk() || !guarded.retryBudget.spend()) return null;
    await wait(delayMs);
    const nowMs = clock();
    if (guarded.notSentReason(nowMs) !== null) return null;
    metrics.inquiryRetries.inc({ rail: guarded.rail.name });
    return attempts.run(guarded, inquiry, endMs - nowMs, nowMs);
  }

  return {
    canReach: guards.reaches,
    snapshot: () => guards.snapshot(clock()),
    spareCapacity(bank) {
      const nowMs = clock();
      const { rails } = guards.routeTo(bank);
      if (rails.length === 0) return { rail: null, capacity: ROOM_WITHOUT_RAIL };
      const open = rails.find((guarded) => guarded.notSentReason(nowMs) === null);
      const isTaken = nowMs - (refusedMs.get(bank.bic) ?? Number.NEGATIVE_INFINITY) < REFUSED_PAUSE_MS;
      if (open === undefined || isTaken) return { rail: null, capacity: 0 };
      return { rail: open.rail.name, capacity: open.spareCapacity(nowMs) };
    },
    inquire(inquiry) {
      const key = `${inquiry.bank.bic} ${inquiry.accountNumber.reveal()}`;
      const shared = underWay.get(key);
      if (shared !== undefined) {
        metrics.inquiriesShared.inc();
        return shared;
      }
      const all = guards.routeTo(inquiry.bank);
      const route = takenBy(all, inquiry);
      if (route.rails.length === 0 && all.rails.length > 0) return Promise.resolve(NOT_SUPPORTED);
      const nowMs = clock();
      const first = openFrom(0, route, nowMs);
      if (first === -1) {
        if (route.rails.length > 0) refusedMs.set(inquiry.bank.bic, nowMs);
        return Promise.resolve(notAsked(route, nowMs));
      }
      const asked = ask(route, first, inquiry, key, nowMs);
      underWay.set(key, asked);
      return asked;
    },
  };
}

/** Whoever was refused comes back a second later, and shall find room then. */
const REFUSED_PAUSE_MS = 2_000;
/** Questions that nobody can be asked are answered at once. */
const ROOM_WITHOUT_RAIL = 100;

const NO_RAIL: InquiryOutcome = { kind: 'no_verdict', reason: 'no_rail', railCode: null };

/** Without the rails that have no room for the number. What is not sent says nothing about a bank, and takes no quota. */
function takenBy(route: Route, inquiry: AccountInquiry): Route {
  const takes = ({ rail }: GuardedRail): boolean => rail.supportsAccountNumber?.(inquiry) !== false;
  return route.rails.every(takes) ? route : { ...route, rails: route.rails.filter(takes) };
}

/** How many of the rails behind this one could be asked now. */
function askableAfter({ rails }: Route, index: number, nowMs: number): number {
  let askable = 0;
  for (let later = index + 1; later < rails.length; later += 1) {
    if (rails[later]?.notSentReason(nowMs) === null) askable += 1;
  }
  return askable;
}

/** The next choice; where there is none, the same rail, whose next answer may come sooner. */
function secondRail({ rails }: Route, index: number, nowMs: number): GuardedRail | null {
  const candidates = [...rails.slice(index + 1), ...rails.slice(index, index + 1)];
  return candidates.find((guarded) => guarded.notSentReason(nowMs) === null) ?? null;
}

function notAsked(route: Route, nowMs: number): InquiryOutcome {
  const [first] = route.rails;
  if (first === undefined) return NO_RAIL;
  // A day's quota may have come anew since it was refused.
  const reason = first.notSentReason(nowMs) ?? 'bulkhead_full';
  return withRetryAfter({ kind: 'no_verdict', reason, railCode: null }, route, nowMs);
}

/** Tells when one of the rails can be asked again, if none can be now. */
function withRetryAfter(outcome: InquiryOutcome, { rails }: Route, nowMs: number): InquiryOutcome {
  if (outcome.kind === 'verdict' || rails.length === 0) return outcome;
  const retryAfterMs = Math.min(...rails.map((guarded) => guarded.waitMs(nowMs)));
  return retryAfterMs > 0 ? { ...outcome, retryAfterMs } : outcome;
}
