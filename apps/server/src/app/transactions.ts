import { createFeed, type Feed } from '../feed/feed.ts';
import { repeat } from '../lib/repeat.ts';
import { createStatusInquiries, type StatusInquiries } from '../status-inquiry/status-inquiries.ts';
import { createExpectedDuration } from '../transactions/expected-duration.ts';
import { createTransactionUpdater, type TransactionUpdater } from '../transactions/transaction-updater.ts';
import type { AppContext } from './app-context.ts';
import type { Store } from './store.ts';

/** What keeps the statuses true: what the core says, what banks say, and time. */
export interface TransactionServices {
  readonly transactionUpdater: TransactionUpdater;
  readonly feed: Feed;
  readonly statusInquiries: StatusInquiries;
}

/** A bank that has just accepted a transfer has nothing to say of it yet. */
const FIRST_INQUIRY_MS = 5_000;
const OVERDUE_INTERVAL_MS = 2_000;
const OVERDUE_BATCH = 500;

export function openTransactions(
  { options, metrics, onClose }: AppContext,
  { database, clients }: Store,
): TransactionServices {
  const { settings, banks, rails } = options;
  const { log } = options.logging;
  const transactionUpdater = createTransactionUpdater({
    database,
    expectedMs: createExpectedDuration(settings.overdueAfter, banks),
    firstInquiryMs: FIRST_INQUIRY_MS,
  });
  const overdue = repeat(
    OVERDUE_INTERVAL_MS,
    () => transactionUpdater.markOverdue(new Date(), OVERDUE_BATCH),
    (error) => log.warn({ err: error }, 'what is overdue could not be looked for; it is tried again'),
  );
  onClose(overdue.stop);
  const staleMs = settings.staleSeconds * 1000;
  const statusInquiries = createStatusInquiries({
    database,
    transactionUpdater,
    rails,
    banks,
    metrics,
    log,
    staleMs,
  });
  onClose(statusInquiries.close);
  statusInquiries.start();
  const feed = createFeed({
    transactionUpdater,
    banks,
    clientExists: (clientId) => clients.find(clientId) !== undefined,
    onApplied: (outcome) => metrics.feedLines.inc({ outcome }),
  });
  return { transactionUpdater, feed, statusInquiries };
}
