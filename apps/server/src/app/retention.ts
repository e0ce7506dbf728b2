import { isRetentionHeld } from '../postgres/archive-files.ts';
import type { Database } from '../postgres/database.ts';
import { findOldestAttempt, scanCallbacks } from '../postgres/retention/callbacks.ts';
import { findOldestEvent, scanEvents } from '../postgres/retention/events.ts';
import { RECORDS_PER_BATCH, type RetentionOptions, startRetention } from '../postgres/retention/retention.ts';
import { deleteStatusMessages, findOldestStatusMessage } from '../postgres/retention/status-messages.ts';
import { findOldestTransaction, scanTransactions } from '../postgres/retention/transactions.ts';
import type { AppContext } from './app-context.ts';

type Batches = Pick<RetentionOptions, 'deleteBatch' | 'hasMore'>;
type Retention = Omit<RetentionOptions, 'inTurn' | 'log' | 'onDeleted' | 'onCompleted' | 'onOldest'>;

/**
 * Deletes old records from now on, unless `days` is 0. A paused service deletes nothing: what is looked at in an old
 * backup must stay.
 */
export function openRetention(
  { options: { settings, logging }, metrics, retentionTurn, onClose }: AppContext,
  retention: Retention,
): void {
  const { records, days } = retention;
  if (settings.paused || days === 0) return;
  const completed = (): void => metrics.gauges.retentionCompleted.set({ records }, Date.now() / 1_000);
  // A retention that never completes is noticed a day after the start (TibaRetentionBehind).
  completed();
  const { stop } = startRetention({
    ...retention,
    inTurn: retentionTurn,
    log: logging.log,
    onDeleted: (count) => metrics.retentionDeleted.inc({ records }, count),
    onCompleted: completed,
    onOldest(oldest) {
      if (oldest === null) metrics.gauges.retentionOldest.remove({ records });
      else metrics.gauges.retentionOldest.set({ records }, oldest.getTime() / 1_000);
    },
  });
  onClose(`retention of ${records}`, stop);
}

/** A row of messages can be a hundred kilobytes. */
const MESSAGES_BATCH = 200;

/**
 * Deletes what is old of transactions: messages, callbacks, events, and at last the transactions. While transactions
 * that were restored from the archive are held, it deletes nothing.
 */
export function openTransactionRetention(context: AppContext, database: Database): void {
  const { messageDays, callbackDays, eventDays, transactionDays } = context.options.settings;
  const unlessHeld = ({ deleteBatch, hasMore }: Batches): Batches => {
    let isHeld = false;
    return {
      async deleteBatch(before) {
        isHeld = await isRetentionHeld(database);
        return isHeld ? 0 : deleteBatch(before);
      },
      ...(hasMore === undefined ? {} : { hasMore: () => !isHeld && hasMore() }),
    };
  };
  openRetention(context, {
    database,
    records: 'status_messages',
    days: messageDays,
    ...unlessHeld({ deleteBatch: (before) => deleteStatusMessages(database, before, MESSAGES_BATCH) }),
    findOldest: () => findOldestStatusMessage(database),
  });
  openRetention(context, {
    database,
    records: 'callbacks',
    days: callbackDays,
    ...unlessHeld(scanCallbacks(database, RECORDS_PER_BATCH)),
    findOldest: () => findOldestAttempt(database),
  });
  openRetention(context, {
    database,
    records: 'events',
    days: eventDays,
    ...unlessHeld(scanEvents(database, RECORDS_PER_BATCH)),
    findOldest: () => findOldestEvent(database),
  });
  openRetention(context, {
    database,
    records: 'transactions',
    days: transactionDays,
    ...unlessHeld(scanTransactions(database, RECORDS_PER_BATCH)),
    findOldest: () => findOldestTransaction(database),
  });
}
