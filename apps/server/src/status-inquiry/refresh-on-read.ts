import { STATUSES } from '../domain/transaction.ts';
import { within } from '../lib/within.ts';
import type { Log } from '../observability/log.ts';
import type { Span } from '../observability/tracing/tracing.ts';
import type { Database } from '../postgres/database.ts';
import { type ClaimedStatusInquiry, claimStatusInquiry } from '../postgres/status-inquiry-claims.ts';
import type { TransactionKey } from '../postgres/transactions.ts';
import type { StatusInquiryOutcome } from '../rails/rail.ts';
import type { MonotonicClock } from '../rate-limit/sliding-window.ts';
import { type InFlightInquiries, type InquiryRail, type InquiryRails, keyOfTransaction } from './in-flight.ts';
import { LEASE_MS } from './schedule.ts';

export interface RefreshOnReadDependencies {
  readonly database: Database;
  readonly rails: InquiryRails;
  readonly inFlight: InFlightInquiries;
  readonly recentInquiries: RecentInquiries;
  readonly staleMs: number;
  readonly refreshTimeoutMs: number;
  readonly inquiryTimeoutMs: number;
  readonly clock: MonotonicClock;
  readonly log: Log;
}

/** Makes the status inquiries that reading a transaction triggers. */
export interface RefreshOnRead {
  /** See `StatusInquiries.refresh`. */
  refresh(clientId: string, transactionId: string, rail: string, reader?: Span): Promise<boolean>;
  /** See `StatusInquiries.inquireNow`. */
  inquireNow(clientId: string, transactionId: string, rail: string): Promise<InquireNowResult>;
  close(): Promise<void>;
}

/** Why the bank was not asked. */
export const NOT_ASKED = ['not_supported', 'too_soon', 'no_slot'] as const;
/**
 * What became of asking the bank:
 *
 * - `not_supported`: no bank can be asked over this rail;
 * - `too_soon`: it was asked a moment ago, or expects its first inquiry later;
 * - `no_slot`: no inquiry can start now, because all slots are taken or the bank fails;
 * - `no_answer_yet`: it was asked, and the answer takes longer than the operator waits;
 * - `no_status`: it was asked, and there was no answer, or one without a status;
 * - `unknown_transfer`: it does not know the transfer, yet or any more;
 * - a status: that is its answer.
 */
export const INQUIRE_NOW_RESULTS = [
  ...NOT_ASKED,
  'no_answer_yet',
  'no_status',
  'unknown_transfer',
  ...STATUSES,
] as const;
export type InquireNowResult = (typeof INQUIRE_NOW_RESULTS)[number];
type NotAsked = (typeof NOT_ASKED)[number];

export function createRefreshOnRead(dependencies: RefreshOnReadDependencies): RefreshOnRead {
  const { rails, inFlight, recentInquiries, staleMs, refreshTimeoutMs, inquiryTimeoutMs, clock, log } = dependencies;
  const claiming = new Map<string, Promise<Ended>>();

  const isStale = (key: TransactionKey, nowMs: number): boolean => {
    const inquiredAtMs = recentInquiries.inquiredAtMs(key);
    return inquiredAtMs === undefined || nowMs - inquiredAtMs >= staleMs;
  };

  /** In a slot that was acquired at this rail. */
  async function claimAndInquire(key: TransactionKey, inquiryRail: InquiryRail, reader?: Span): Promise<Ended> {
    const claimed = await claim(dependencies, key, inquiryRail).catch((error: unknown) => {
      log.warn({ err: error }, 'starting a status inquiry for check-status failed; the next request tries again');
      return 'no_slot' as const;
    });
    if (claimed !== null && claimed !== 'no_slot') return inFlight.start(inquiryRail, claimed, 'reader', reader);
    inquiryRail.concurrency.release(1);
    return claimed ?? 'too_soon';
  }

  function start(key: TransactionKey, rail: string, nowMs: number, reader?: Span): Promise<Ended> | NotAsked {
    const inquiryRail = rails.get(rail);
    if (inquiryRail === undefined) return 'not_supported';
    // Without a free slot, the next read tries again.
    if (inquiryRail.concurrency.acquire(1, 'reader', nowMs) !== 1) return 'no_slot';
    // Recorded now and not after the claim: another read in the meantime would try to claim it as well.
    recentInquiries.record(key, nowMs);
    const name = keyOfTransaction(key);
    const started = claimAndInquire(key, inquiryRail, reader).finally(() => claiming.delete(name));
    claiming.set(name, started);
    return started;
  }

  function findOrStart(key: TransactionKey, rail: string, reader?: Span): Promise<Ended> | NotAsked {
    const nowMs = clock();
    return (
      claiming.get(keyOfTransaction(key)) ??
      inFlight.find(key) ??
      (isStale(key, nowMs) ? start(key, rail, nowMs, reader) : 'too_soon')
    );
  }

  return {
    async refresh(clientId, transactionId, rail, reader) {
      const inquiry = findOrStart({ clientId, transactionId }, rail, reader);
      if (typeof inquiry === 'string') return false;
      await within(inquiry, refreshTimeoutMs, undefined);
      return true;
    },
    async inquireNow(clientId, transactionId, rail) {
      const inquiry = findOrStart({ clientId, transactionId }, rail);
      if (typeof inquiry === 'string') return inquiry;
      return resultOf(await within(inquiry, inquiryTimeoutMs, 'no_answer_yet' as const));
    },
    async close() {
      await Promise.all(claiming.values());
    },
  };
}

/** How an inquiry ended; null: it was aborted. */
type Ended = StatusInquiryOutcome | NotAsked | null;

function resultOf(ended: Ended | 'no_answer_yet'): InquireNowResult {
  if (ended === null) return 'no_status';
  if (typeof ended === 'string') return ended;
  return ended.kind === 'status' ? ended.status : ended.kind;
}

/** A transaction that a person has to review gets few inquiries, however often it is read. */
const REVIEWED_STALE_MS = 15 * 60_000;

async function claim(
  { database, recentInquiries, staleMs, clock }: RefreshOnReadDependencies,
  key: TransactionKey,
  { rail }: InquiryRail,
): Promise<ClaimedStatusInquiry | null> {
  const { claimed, inquiredMsAgo } = await claimStatusInquiry(
    database,
    { ...key, rail: rail.name },
    {
      leaseMs: LEASE_MS,
      staleMs,
      staleInReviewMs: Math.max(staleMs, REVIEWED_STALE_MS),
      notBeforeFirst: rail.firstStatusInquiryMs !== undefined,
    },
  );
  // Another process made an inquiry: the transaction is stale again `staleMs` after that one.
  if (claimed === null && inquiredMsAgo !== null && inquiredMsAgo < staleMs) {
    recentInquiries.record(key, clock() - inquiredMsAgo);
  }
  return claimed;
}

/**
 * When this process last saw an inquiry about a transaction, on its monotonic clock and in memory: repeated reads then
 * cost no query.
 */
export interface RecentInquiries {
  record(key: TransactionKey, inquiredAtMs: number): void;
  /** undefined if unknown. */
  inquiredAtMs(key: TransactionKey): number | undefined;
}

/** A forgotten transaction only costs a query. */
const RECENT_MAX = 10_000;

export function createRecentInquiries(): RecentInquiries {
  const recent = new Map<string, number>();
  return {
    record(transaction, inquiredAtMs) {
      const key = keyOfTransaction(transaction);
      // Deleted and set again, it is the last in the map's order, so the first is the least recently recorded.
      recent.delete(key);
      recent.set(key, inquiredAtMs);
      if (recent.size <= RECENT_MAX) return;
      for (const oldest of recent.keys()) {
        recent.delete(oldest);
        break;
      }
    },
    inquiredAtMs: (key) => recent.get(keyOfTransaction(key)),
  };
}
