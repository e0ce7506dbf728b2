import { createFeed, type Feed } from '../feed/feed.ts';
import { repeat } from '../lib/repeat.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import { readDatabaseTime } from '../postgres/database.ts';
import { createStatusInquiries, type StatusInquiries } from '../status-inquiry/status-inquiries.ts';
import { createExpectedDuration } from '../transactions/processing-times.ts';
import { createTransactionUpdater, type TransactionUpdater } from '../transactions/transaction-updater.ts';
import type { AppContext } from './app-context.ts';
import type { PostgresServices } from './postgres.ts';

/** Keeps transaction statuses up to date: from the feed, by status inquiries at banks, and by time (overdue). */
export interface TransactionServices {
  readonly transactionUpdater: TransactionUpdater;
  readonly feed: Feed;
  readonly statusInquiries: StatusInquiries;
}

/** A bank that has just accepted a transfer does not know its outcome yet. Some banks are asked later. */
const FIRST_INQUIRY_MS = 5_000;
const OVERDUE_INTERVAL_MS = 2_000;
const OVERDUE_BATCH = 500;

export function openTransactions(
  { options, metrics, tracing, onClose }: AppContext,
  { database, clients, latestRestore, now }: PostgresServices,
): TransactionServices {
  const { settings, banks, rails } = options;
  const { log } = options.logging;
  const transactionUpdater = createTransactionUpdater({
    database,
    expectedMs: createExpectedDuration(settings.overdueAfter, banks),
    firstInquiryMs: FIRST_INQUIRY_MS,
    // Both need each other: no update is applied before the inquiries are there.
    firstInquiryMsOf: (rail) => statusInquiries.firstInquiryMsOf(rail),
    now,
    versionFloor: latestRestore.versionFloor,
  });
  if (!settings.paused) {
    const closing = new AbortController();
    const overdueSweep = repeat(
      OVERDUE_INTERVAL_MS,
      async () => {
        // A process whose clock is ahead must not tell clients that their disbursements are overdue.
        const now = await readDatabaseTime(database);
        // While banks are away, more become overdue in a second than one batch has.
        while (!closing.signal.aborted && (await transactionUpdater.markOverdue(now, OVERDUE_BATCH)) === OVERDUE_BATCH);
      },
      createFailureLog(log, 'marking overdue transactions failed; will retry'),
    );
    onClose('overdue sweep', () => {
      closing.abort();
      return overdueSweep.stop();
    });
  }
  const staleMs = settings.staleSeconds * 1000;
  const statusInquiries = createStatusInquiries({
    database,
    transactionUpdater,
    rails,
    banks,
    metrics,
    log,
    tracing,
    staleMs,
  });
  onClose('status inquiries', statusInquiries.close);
  if (!settings.paused) statusInquiries.start();
  // A core that sends nothing after a restart is noticed, too (TibaFeedSilent).
  metrics.gauges.feedLastUpdate.setToCurrentTime();
  const feed = createFeed({
    transactionUpdater,
    banks,
    clientExists: (clientId) => clients.find(clientId) !== undefined,
    onApplied(outcome, count) {
      metrics.feedLines.inc({ outcome }, count);
      metrics.gauges.feedLastUpdate.setToCurrentTime();
    },
    causes: tracing?.causes ?? null,
  });
  return {
    transactionUpdater,
    feed,
    statusInquiries: settings.paused ? { ...statusInquiries, ...ASKS_NO_BANK } : statusInquiries,
  };
}

/** While the process is paused. */
const ASKS_NO_BANK: Pick<StatusInquiries, 'refresh' | 'inquireNow'> = {
  refresh: () => Promise.resolve(false),
  inquireNow: () => Promise.resolve('not_supported'),
};
