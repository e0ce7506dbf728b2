import { isFinal, type Transaction } from '../domain/transaction.ts';
import { transactionJson } from '../domain/transaction-json.ts';
import type { Query } from '../postgres/database.ts';
import { insertEvents, type NewEvent } from '../postgres/events.ts';
import { beginStatusInquiries, endStatusInquiries } from '../postgres/status-inquiries.ts';
import { insertStatusUpdates } from '../postgres/status-updates.ts';
import { notifyTransactionChanges } from '../postgres/transaction-changes.ts';
import { insertTransactions, updateTransactions } from '../postgres/transactions.ts';
import type { Change, UpdatePlan } from './decide.ts';

interface Times {
  /** ISO 8601 UTC. */
  readonly now: string;
  readonly firstInquiryAt: string;
}

/**
 * Writes everything that follows from a draft: states, observations, what is to be asked, events, deliveries and the jobs
 * that carry them. False when somebody else inserted one of the transactions first: the draft is then out of date.
 */
export async function persist(query: Query, draft: UpdatePlan, { now, firstInquiryAt }: Times): Promise<boolean> {
  const { inserted, changed, annotated, statusUpdates } = draft;
  if (!(await insertTransactions(query, inserted.map(toTransaction)))) return false;
  await updateTransactions(query, [...changed.map(toTransaction), ...annotated]);
  await insertStatusUpdates(query, statusUpdates);

  const askable = [...inserted.map(toTransaction), ...annotated].filter(
    ({ status, rail }) => rail !== null && !isFinal(status),
  );
  await beginStatusInquiries(query, askable, firstInquiryAt);
  const ended = changed.filter(({ before, transaction }) => before?.rail !== null && isFinal(transaction.status));
  await endStatusInquiries(query, ended.map(toTransaction));

  await notifyTransactionChanges(query, changed.map(toTransaction));
  const told = [...inserted, ...changed];
  // Last, because they hold up whoever else has something to tell the same client.
  await insertEvents(
    query,
    told.flatMap((change) => happenings(change, now)),
  );
  return true;
}

const toTransaction = ({ transaction }: Change): Transaction => transaction;

function happenings({ transaction, events }: Change, now: string): NewEvent[] {
  if (events.length === 0) return [];
  const { clientId, transactionId, version } = transaction;
  const data = transactionJson(transaction);
  return events.map((kind, index) => ({
    clientId,
    subjectId: transactionId,
    version: version - (events.length - 1 - index),
    kind,
    occurredAt: now,
    data,
  }));
}
