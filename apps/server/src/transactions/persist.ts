import { isFinal, type Transaction, transactionJson } from '../domain/transaction.ts';
import type { Query } from '../postgres/database.ts';
import { insertEvents, keepEventData, type NewEvent } from '../postgres/events.ts';
import { beginStatusInquiries, endStatusInquiries } from '../postgres/status-inquiries.ts';
import { appliedUpdateIds, insertOtherStatusUpdates, insertStatusMessages } from '../postgres/status-updates.ts';
import { notifyTransactionChanges } from '../postgres/transaction-changes.ts';
import { insertTransactions, updateTransactions } from '../postgres/transactions.ts';
import type { Change, UpdatePlan } from './decide.ts';

interface Times {
  /** ISO 8601 UTC. */
  readonly now: string;
  /** The delay before the first status inquiry about a new transfer. */
  readonly firstInquiryMs: number;
}

/**
 * Writes everything that a plan changes: transactions, status update records, the schedule of status inquiries, events,
 * callback deliveries and the jobs that send them. Returns false if another database transaction inserted one of the
 * transactions first: the plan is then out of date.
 */
export async function persist(query: Query, plan: UpdatePlan, { now, firstInquiryMs }: Times): Promise<boolean> {
  const { inserted, changed, annotated, statusUpdates } = plan;
  const ids = await insertStatusMessages(query, statusUpdates);
  const appliedIds = appliedUpdateIds(statusUpdates, ids);
  if (!(await insertTransactions(query, inserted.map(toTransaction), appliedIds))) return false;
  await keepEventData(query, changed.filter(replacesEventData).map(toTransaction));
  await updateTransactions(query, [...changed.map(toTransaction), ...annotated], appliedIds);
  await insertOtherStatusUpdates(query, statusUpdates, ids);

  const inquirable = [...inserted.map(toTransaction), ...annotated].filter(
    ({ status, rail }) => rail !== null && !isFinal(status),
  );
  await beginStatusInquiries(query, inquirable, firstInquiryMs);
  const completed = changed.filter(({ before, transaction }) => before?.rail !== null && isFinal(transaction.status));
  await endStatusInquiries(query, completed.map(toTransaction));

  await notifyTransactionChanges(query, changed.map(toTransaction));
  // Last, because this blocks other database transactions that insert events of the same client.
  await insertEvents(
    query,
    [...inserted, ...changed].flatMap((change) => newEventsOf(change, now)),
  );
  return true;
}

/** Earlier events show the transaction as it was before. A transaction without events needs no look at them. */
const replacesEventData = ({ before, transaction }: Change): boolean =>
  before !== null &&
  (before.overdueSince !== null || isFinal(before.status)) &&
  transactionJson(before) !== transactionJson(transaction);

const toTransaction = ({ transaction }: Change): Transaction => transaction;

function newEventsOf({ transaction, events }: Change, now: string): NewEvent[] {
  if (events.length === 0) return [];
  const { clientId, transactionId, version } = transaction;
  return events.map((kind, index) => ({
    clientId,
    subjectId: transactionId,
    version: version - (events.length - 1 - index),
    kind,
    occurredAt: now,
    // The transaction has it.
    data: null,
  }));
}
