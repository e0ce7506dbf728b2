import { isFinal, type Transaction, transactionJson } from '../domain/transaction.ts';
import type { Query } from '../postgres/database.ts';
import { insertEvents, keepEventData, type NewEvent } from '../postgres/events.ts';
import { beginStatusInquiries, endStatusInquiries, type NewStatusInquiry } from '../postgres/status-inquiries.ts';
import { insertOtherStatusUpdates, insertStatusMessages } from '../postgres/status-updates.ts';
import { changeNotifications } from '../postgres/transaction-changes.ts';
import { endTransactions, type TransactionToEnd } from '../postgres/transaction-ends.ts';
import { insertTransactions } from '../postgres/transaction-inserts.ts';
import type { TransactionToStore } from '../postgres/transaction-rows.ts';
import { updateTransactions } from '../postgres/transaction-updates.ts';
import type { Assumption, Change, UpdatePlan } from './decide.ts';

interface Times {
  /** ISO 8601 UTC. */
  readonly now: string;
  /** The delay before the first status inquiry about a new transfer over this rail. */
  readonly firstInquiryMs: (rail: string) => number;
}

/**
 * Writes everything that a plan changes: transactions, status update records, the schedule of status inquiries, events,
 * callback deliveries and the notifications about them. Returns what does not hold when the plan is out of date: one of
 * the transactions is not new, or not in PROCESS as it was before. Returns null when everything is written.
 */
export async function persist(
  query: Query,
  plan: UpdatePlan,
  { now, firstInquiryMs }: Times,
): Promise<Assumption | null> {
  const { inserted, changed, annotated, statusUpdates } = plan;
  const ids = await insertStatusMessages(query, statusUpdates);
  const toStore = ({ transaction, insertedBy, advancedBy }: Change): TransactionToStore => ({
    transaction,
    insertedBy: insertedBy === null ? null : String(ids[insertedBy]),
    advancedBy: advancedBy === null ? null : String(ids[advancedBy]),
  });
  await keepEventData(query, changed.filter(replacesEventData).map(toTransaction));
  const toEnd: TransactionToEnd[] = [];
  const toUpdate = annotated.map(toStore);
  for (const change of changed) {
    const { before } = change;
    const stored = toStore(change);
    if (before !== null && onlyEnds(before, change.transaction)) toEnd.push({ before, ...stored });
    else toUpdate.push(stored);
  }
  // Those that are stored before those that are new, as where they were locked to be decided: the other way round, two
  // feeds could wait for each other.
  if (!(await endTransactions(query, toEnd, !plan.assumed['in process']))) return 'in process';
  await updateTransactions(query, toUpdate);
  if (!(await insertTransactions(query, inserted.map(toStore)))) return 'new';
  await insertOtherStatusUpdates(query, statusUpdates, ids);

  await beginStatusInquiries(query, inquiriesOf([...inserted, ...annotated], firstInquiryMs));
  const completed = changed.filter(({ before, transaction }) => before?.rail !== null && isFinal(transaction.status));
  await endStatusInquiries(query, completed.map(toTransaction));

  // Last, because this blocks other database transactions that insert events of the same client.
  const changes = changeNotifications(changed.map(toTransaction));
  await insertEvents(query, newEventsOf([...inserted, ...changed]), now, [changes]);
  return null;
}

/**
 * Whether nothing changes but what `endTransactions` writes. It does not write what an update, or the clock, may add to
 * a stored transaction.
 */
const onlyEnds = (before: Transaction, transaction: Transaction): boolean =>
  before.status === 'PROCESS' &&
  isFinal(transaction.status) &&
  before.rail === transaction.rail &&
  before.railReference === transaction.railReference &&
  before.sourceAccountNumber === transaction.sourceAccountNumber &&
  before.serviceCode === transaction.serviceCode &&
  before.externalId === transaction.externalId &&
  before.bankReference === transaction.bankReference &&
  before.overdueSince === transaction.overdueSince;

/** Earlier events show the transaction as it was before. A transaction without events needs no look at them. */
const replacesEventData = ({ before, transaction }: Change): boolean =>
  before !== null &&
  (before.overdueSince !== null || isFinal(before.status)) &&
  transactionJson(before) !== transactionJson(transaction);

const toTransaction = ({ transaction }: Change): Transaction => transaction;

function inquiriesOf(changes: readonly Change[], firstInquiryMs: Times['firstInquiryMs']): NewStatusInquiry[] {
  const inquiries: NewStatusInquiry[] = [];
  for (const { transaction } of changes) {
    const { clientId, transactionId, status, rail } = transaction;
    if (rail === null || isFinal(status)) continue;
    inquiries.push({ clientId, transactionId, rail, delayMs: firstInquiryMs(rail) });
  }
  return inquiries;
}

function newEventsOf(changes: readonly Change[]): NewEvent[] {
  const newEvents: NewEvent[] = [];
  for (const { transaction, events } of changes) {
    const { clientId, transactionId, version } = transaction;
    for (const [index, kind] of events.entries()) {
      newEvents.push({
        clientId,
        subjectId: transactionId,
        version: version - (events.length - 1 - index),
        kind,
        // The transaction has it.
        data: null,
      });
    }
  }
  return newEvents;
}
