import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../observability/log.ts';
import type { Database } from '../postgres/database.ts';
import { type ClaimedStatusInquiry, claimStatusInquiry } from '../postgres/status-inquiry-claims.ts';
import type { TransactionKey } from '../postgres/transactions.ts';
import { leaseEnd } from './claim-lease.ts';
import { type InFlightInquiries, keyOfTransaction } from './in-flight.ts';
import type { InquiryRail, InquiryRails } from './inquiry-rail.ts';
import type { RecentInquiries } from './recent-inquiries.ts';

export interface RefreshOnReadDependencies {
  readonly database: Database;
  readonly rails: InquiryRails;
  readonly inFlight: InFlightInquiries;
  readonly recentInquiries: RecentInquiries;
  readonly staleMs: number;
  readonly readerWaitsMs: number;
  readonly now: () => Date;
  readonly log: Log;
}

/** Asks because somebody reads. */
export interface RefreshOnRead {
  refresh(clientId: string, transactionId: string): Promise<boolean>;
  close(): Promise<void>;
}

/** One that a person has to look into is asked about rarely, however often it is read. */
const REVIEWED_STALE_MS = 15 * 60_000;

export function createRefreshOnRead(dependencies: RefreshOnReadDependencies): RefreshOnRead {
  const { database, rails, inFlight, recentInquiries, staleMs, readerWaitsMs, now, log } = dependencies;
  const claiming = new Map<string, Promise<void>>();

  const isStale = (key: TransactionKey, nowMs: number): boolean => {
    const askedAtMs = recentInquiries.askedAtMs(key);
    return askedAtMs === undefined || nowMs - askedAtMs >= staleMs;
  };

  /** `open` are the rails at which a place is taken for this question: which of them it is about, only the claim tells. */
  async function claimAndAsk(key: TransactionKey, open: readonly InquiryRail[], at: Date): Promise<void> {
    const claimed = await claim(key, open, at).catch((error: unknown) => {
      log.warn({ err: error }, 'a transaction that is read could not be asked about');
      return null;
    });
    const askedRail = open.find(({ rail }) => rail.name === claimed?.rail);
    for (const each of open) if (each !== askedRail) each.concurrency.giveBack(1);
    if (claimed !== null && askedRail !== undefined) await inFlight.begin(askedRail, claimed, 'reader', at);
  }

  async function claim(
    key: TransactionKey,
    open: readonly InquiryRail[],
    at: Date,
  ): Promise<ClaimedStatusInquiry | null> {
    const nowMs = at.getTime();
    const before = (ms: number): string => new Date(nowMs - ms).toISOString();
    const { claimed, lastInquiredAt } = await claimStatusInquiry(database, key, {
      now: at.toISOString(),
      claimedUntil: leaseEnd(at),
      rails: open.map(({ rail }) => rail.name),
      lastInquiredBefore: before(staleMs),
      lastInquiredBeforeInReview: before(Math.max(staleMs, REVIEWED_STALE_MS)),
    });
    // Another process asked it: it is stale again when that is long ago.
    const others = claimed === null && lastInquiredAt !== null ? Date.parse(lastInquiredAt) : nowMs - staleMs;
    if (others > nowMs - staleMs) recentInquiries.note(key, others);
    return claimed;
  }

  function begin(key: TransactionKey, at: Date): Promise<void> | undefined {
    const open = [...rails.values()].filter(({ concurrency }) => concurrency.take(1, 'reader', at.getTime()) === 1);
    // No bank can take a question now: the next reader tries again.
    if (open.length === 0) return undefined;
    // Now, not when it is claimed: whoever reads meanwhile would look for it as well.
    recentInquiries.note(key, at.getTime());
    const name = keyOfTransaction(key);
    const begun = claimAndAsk(key, open, at).finally(() => claiming.delete(name));
    claiming.set(name, begun);
    return begun;
  }

  return {
    async refresh(clientId, transactionId) {
      const key = { clientId, transactionId };
      const at = now();
      const asked =
        claiming.get(keyOfTransaction(key)) ??
        inFlight.about(key) ??
        (isStale(key, at.getTime()) ? begin(key, at) : undefined);
      if (asked === undefined) return false;
      const enough = new AbortController();
      await Promise.race([asked, wait(readerWaitsMs, undefined, { signal: enough.signal }).catch(() => {})]);
      enough.abort();
      return true;
    },
    async close() {
      await Promise.all(claiming.values());
    },
  };
}
