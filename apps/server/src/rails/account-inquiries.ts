import type { Bank } from '../domain/bank.ts';
import { within } from '../lib/within.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type AccountInquiry, type ClientInquiry, type InquiryOutcome, NOT_SUPPORTED, type Rail } from './rail.ts';
import { createAttempts } from './resilience/attempts.ts';
import {
  createFailover,
  inquiryEndMs,
  NO_RAIL,
  NO_TIME_LEFT,
  nextOpenRail,
  withRetryAfter,
} from './resilience/failover.ts';
import type { GuardedRail } from './resilience/guarded-rail.ts';
import {
  type BankFinding,
  createGuards,
  type GuardOptions,
  type RailOptions,
  type RailSnapshot,
  type Route,
} from './resilience/guards.ts';
import { createHedge } from './resilience/hedge.ts';
import type { BankCount } from './resilience/inquiry-counts.ts';

export interface AccountInquiries {
  /** Uses these rails from now on (`Guards.replaceRails`). Inquiries in flight end where they began. */
  replaceRails(rails: readonly Rail[], options: RailOptions): void;
  /** Whether any rail leads to the bank. */
  canReach(bank: Bank): boolean;
  inquire(inquiry: ClientInquiry): Promise<InquiryOutcome>;
  /**
   * How many inquiries that can wait, such as those of bulk validations, may be sent to the bank now. The rest is
   * reserved for clients that wait for a reply at this moment. Banks behind the same rail share its capacity. `rail` is
   * null where no rail limits the bank.
   */
  spareCapacity(bank: Bank): { readonly rail: string | null; readonly capacity: number };
  /**
   * Whether no rail sends inquiries of this client to the bank now. Others may be served: a client is suspended where
   * the bank fails over the accounts that it chooses.
   */
  isClosedTo(bank: Bank, clientId: string): boolean;
  /** The state of each rail and of its banks. */
  snapshot(): readonly RailSnapshot[];
  /** What this process has found about banks and other processes need to know. */
  findings(): readonly BankFinding[];
  /** Takes all that the other processes have found. Call it again while there is something. */
  learn(others: readonly BankFinding[]): void;
  /** How inquiries ended since the last call, by bank, rail and outcome. */
  takeCounts(): readonly BankCount[];
}

export interface AccountInquiriesOptions extends GuardOptions {
  /** Milliseconds on a clock that never jumps. */
  readonly clock?: () => number;
  /** From 0 to below 1: spreads retries. */
  readonly random?: () => number;
}

/** A client that was rejected retries a second later, and should find capacity then. */
const BULK_PAUSE_MS = 2_000;
/** Inquiries about a bank without a rail get their result at once. */
const CAPACITY_WITHOUT_RAIL = 100;

/**
 * Sends account inquiries over the rails to a bank, first choice first, until one gives a verdict or the deadline
 * passes. The same inquiry is in flight only once: a second caller gets the outcome of the first, and no later. One
 * whose own request has less time left waits no longer than that.
 */
export function createAccountInquiries(
  rails: readonly Rail[],
  metrics: Metrics,
  options: AccountInquiriesOptions = {},
): AccountInquiries {
  const { clock = () => performance.now(), random = Math.random } = options;
  const inFlight = new Map<string, InquiryInFlight>();
  /** When an inquiry last found no open rail, by the bank's BIC. */
  const lastNotSentMs = new Map<string, number>();
  const guards = createGuards(rails, metrics, options);
  const attempts = createAttempts(metrics, clock);
  const inquireHedged = createHedge({ attempts, metrics, clock });
  const failover = createFailover({ attempts, inquireHedged, metrics, inFlight, clock, random });

  return {
    replaceRails: guards.replaceRails,
    canReach: guards.reaches,
    snapshot: () => guards.snapshot(clock()),
    findings: () => guards.findings(clock()),
    learn: (others) => guards.learn(others, clock()),
    takeCounts: guards.takeCounts,
    isClosedTo(bank, clientId) {
      const nowMs = clock();
      const { rails } = guards.routeTo(bank);
      const isClosed = (guarded: GuardedRail): boolean =>
        guarded.isSuspended(clientId, nowMs) || guarded.notSentReason(null, nowMs) !== null;
      return rails.length > 0 && rails.every(isClosed);
    },
    spareCapacity(bank) {
      const nowMs = clock();
      const { rails } = guards.routeTo(bank);
      if (rails.length === 0) return { rail: null, capacity: CAPACITY_WITHOUT_RAIL };
      const open = rails.find((guarded) => guarded.notSentReason(null, nowMs) === null);
      const isPaused = nowMs - (lastNotSentMs.get(bank.bic) ?? Number.NEGATIVE_INFINITY) < BULK_PAUSE_MS;
      if (open === undefined || isPaused) return { rail: null, capacity: 0 };
      return { rail: open.rail.name, capacity: open.spareCapacity(nowMs) };
    },
    inquire(inquiry) {
      const key = `${inquiry.bank.bic} ${inquiry.accountNumber.reveal()}`;
      const shared = inFlight.get(key);
      if (shared !== undefined) {
        metrics.inquiriesShared.inc();
        inquiry.span?.note({ 'tiba.inquiry_shared': true });
        return outcomeInTime(shared, inquiry, clock);
      }
      const all = guards.routeTo(inquiry.bank);
      const route = supportedRoute(all, inquiry);
      if (route.rails.length === 0 && all.rails.length > 0) return Promise.resolve(NOT_SUPPORTED);
      const nowMs = clock();
      const first = nextOpenRail(route, 0, inquiry.clientId, nowMs, metrics);
      if (first === -1) {
        // One client's own limits must not pause the bulk validations of others.
        if (route.rails.length > 0 && isClosedToAll(route, nowMs)) lastNotSentMs.set(inquiry.bank.bic, nowMs);
        return Promise.resolve(notSent(route, inquiry.clientId, nowMs));
      }
      const endMs = inquiryEndMs(inquiry, nowMs);
      if (endMs === null) return Promise.resolve(NO_TIME_LEFT);
      const outcome = failover.run(route, first, inquiry, key, { startMs: nowMs, endMs });
      // Failover deletes the key when it ends: a `finally` here would cost each inquiry one more promise.
      inFlight.set(key, { outcome, endMs });
      return outcome;
    },
  };
}

interface InquiryInFlight {
  readonly outcome: Promise<InquiryOutcome>;
  readonly endMs: number;
}

/** A request that has waited before it joins an inquiry may have to be answered before that inquiry ends. */
function outcomeInTime(
  { outcome, endMs }: InquiryInFlight,
  { deadlineMs = Number.POSITIVE_INFINITY }: ClientInquiry,
  clock: () => number,
): Promise<InquiryOutcome> {
  if (deadlineMs >= endMs) return outcome;
  return within(outcome, Math.max(0, deadlineMs - clock()), NO_TIME_LEFT);
}

/**
 * The route without the rails that cannot carry the account number. An inquiry that is not sent is no evidence about a
 * bank, and uses no quota.
 */
function supportedRoute(route: Route, inquiry: AccountInquiry): Route {
  const isSupported = ({ rail }: GuardedRail): boolean => rail.supportsAccountNumber?.(inquiry) !== false;
  return route.rails.every(isSupported) ? route : { ...route, rails: route.rails.filter(isSupported) };
}

const isClosedToAll = ({ rails }: Route, nowMs: number): boolean =>
  rails.every((guarded) => guarded.notSentReason(null, nowMs) !== null);

function notSent(route: Route, clientId: string, nowMs: number): InquiryOutcome {
  const [first] = route.rails;
  if (first === undefined) return NO_RAIL;
  // The day's quota may have been renewed since the rail was found closed.
  const reason = first.notSentReason(clientId, nowMs) ?? 'bulkhead_full';
  return withRetryAfter({ kind: 'no_verdict', reason, railCode: null }, route, clientId, nowMs);
}
