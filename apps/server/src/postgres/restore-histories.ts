import { transactionJson } from '../domain/transaction.ts';
import { type Database, DatabaseContended, type Query } from './database.ts';
import { databaseOfClient } from './distributed/one-client.ts';
import { compressMessages, decompressMessages } from './status-messages.ts';
import { IDS_PER_ROW, isNamedByTransaction, messageRowOf, type StatusUpdateRecord } from './status-updates.ts';
import type { HistoryEvent, TransactionHistory } from './transaction-histories.ts';
import { insertTransactions } from './transaction-inserts.ts';
import { lockTransactions } from './transaction-locks.ts';
import type { TransactionToStore } from './transaction-rows.ts';
import { findTransactionsByReference } from './transactions.ts';

export interface RestoredHistories {
  /** Transactions that were inserted. */
  readonly inserted: number;
  /** Transactions that were there; what was missing of their history was inserted. */
  readonly present: number;
  /** IDs of transactions that were not restored: another transaction has their reference ID now. */
  readonly conflicting: readonly string[];
}

/**
 * Inserts what is missing of these histories of one client, and changes nothing that is there. Restored events are
 * below the client's `removed_up_to`: no reader sees them, and nothing sends their callbacks.
 */
export function restoreHistories(
  database: Database,
  clientId: string,
  histories: readonly TransactionHistory[],
): Promise<RestoredHistories> {
  return databaseOfClient(database, clientId).transaction(async (query) => {
    const present = new Map(
      (await lockTransactions(query, histories.map(toKey))).map((stored) => [stored.transactionId, stored]),
    );
    const missing = histories.filter(({ transaction }) => !present.has(transaction.transactionId));
    const holders = await findTransactionsByReference(
      query,
      missing.map(({ transaction }) => transaction),
    );
    const taken = new Set(holders.map(({ referenceId }) => referenceId));
    const isTaken = ({ transaction }: TransactionHistory): boolean =>
      !present.has(transaction.transactionId) && taken.has(transaction.referenceId);
    const inserted = missing.filter((history) => !isTaken(history));
    await insertMissing(query, inserted);
    const restored = histories.filter((history) => !isTaken(history));
    await insertStatusUpdates(query, clientId, restored);
    const shownAs = ({ transaction }: TransactionHistory): string =>
      transactionJson(present.get(transaction.transactionId) ?? transaction);
    await insertEvents(
      query,
      clientId,
      restored.flatMap((history) => toEventRows(history, shownAs(history))),
    );
    await insertDeliveries(query, clientId, restored);
    return {
      inserted: inserted.length,
      present: present.size,
      conflicting: missing.filter(isTaken).map(({ transaction }) => transaction.transactionId),
    };
  });
}

const toKey = ({ transaction: { clientId, transactionId } }: TransactionHistory) => ({ clientId, transactionId });

async function insertMissing(query: Query, histories: readonly TransactionHistory[]): Promise<void> {
  if (!(await insertTransactions(query, histories.map(toStored)))) {
    throw new DatabaseContended('one of these transactions was inserted concurrently');
  }
}

function toStored({ transaction, statusUpdates }: TransactionHistory): TransactionToStore {
  const idOf = (wanted: StatusUpdateRecord['outcome']): string | null =>
    statusUpdates.find((update) => update.outcome === wanted && isNamedByTransaction(update))?.statusUpdateId ?? null;
  return { transaction, insertedBy: idOf('inserted'), advancedBy: idOf('advanced') };
}

async function insertStatusUpdates(
  query: Query,
  clientId: string,
  histories: readonly TransactionHistory[],
): Promise<void> {
  const others = histories.flatMap(({ transaction: { transactionId }, statusUpdates }) =>
    statusUpdates.filter((update) => !isNamedByTransaction(update)).map((update) => ({ transactionId, update })),
  );
  await query(
    `insert into tiba.other_status_updates (client_id, transaction_id, status_update_id, outcome, reason)
     select $1, k.* from unnest($2::text[], $3::bigint[], $4::text[], $5::text[]) as k
     on conflict do nothing`,
    [
      clientId,
      others.map(({ transactionId }) => transactionId),
      others.map(({ update }) => update.statusUpdateId),
      others.map(({ update }) => update.outcome),
      others.map(({ update }) => update.reason),
    ],
  );
  await insertMessages(
    query,
    clientId,
    histories.flatMap(({ statusUpdates }) => statusUpdates),
  );
}

/** A row of messages is shared by transactions that may be in other files: it is completed message by message. */
async function insertMessages(query: Query, clientId: string, updates: readonly StatusUpdateRecord[]): Promise<void> {
  const byRow = new Map<number, StatusUpdateRecord[]>();
  for (const update of updates) {
    if (update.raw === null) continue;
    const row = messageRowOf(update.statusUpdateId);
    byRow.set(row, [...(byRow.get(row) ?? []), update]);
  }
  for (const [row, own] of [...byRow].sort(([one], [other]) => one - other)) {
    const firstId = row * IDS_PER_ROW;
    const { rows } = await query<{ messages: Buffer }>(
      'select messages from tiba.status_messages where client_id = $1 and first_status_update_id = $2 for update',
      [clientId, firstId],
    );
    const messages = rows[0] === undefined ? [] : await decompressMessages(rows[0].messages);
    const isChanged = completeMessages(messages, own);
    if (!isChanged) continue;
    await query(
      `insert into tiba.status_messages (client_id, first_status_update_id, received_at, source, messages)
       overriding system value values ($1, $2, $3, $4, $5)
       on conflict (client_id, first_status_update_id) do update set messages = excluded.messages`,
      [clientId, firstId, own[0]?.receivedAt, own[0]?.source, compressMessages(messages)],
    );
  }
}

function completeMessages(messages: string[], updates: readonly StatusUpdateRecord[]): boolean {
  let isChanged = false;
  for (const { statusUpdateId, raw } of updates) {
    const position = Number(statusUpdateId) % IDS_PER_ROW;
    while (messages.length <= position) messages.push('');
    if (messages[position] !== '' || raw === null) continue;
    messages[position] = raw;
    isChanged = true;
  }
  return isChanged;
}

interface EventRow {
  readonly transactionId: string;
  readonly event: HistoryEvent;
}

/** `shown`: the transaction as it is stored now. An event has its own data where that is different. */
function toEventRows({ transaction, events }: TransactionHistory, shown: string): EventRow[] {
  const archived = transactionJson(transaction);
  return events.map((event) => {
    const data = event.data ?? archived;
    return { transactionId: transaction.transactionId, event: { ...event, data: data === shown ? null : data } };
  });
}

async function insertEvents(query: Query, clientId: string, events: readonly EventRow[]): Promise<void> {
  await query(
    `insert into tiba.events (client_id, subject_id, sequence, version, kind, occurred_at, data)
     select $1, k.* from unnest($2::text[], $3::bigint[], $4::int[], $5::tiba.event_kind[], $6::timestamptz[],
                                    $7::text[]) as k
     on conflict do nothing`,
    [
      clientId,
      events.map(({ transactionId }) => transactionId),
      events.map(({ event }) => event.sequence),
      events.map(({ event }) => event.version),
      events.map(({ event }) => event.kind),
      events.map(({ event }) => event.occurredAt),
      events.map(({ event }) => event.data),
    ],
  );
}

/** Those that were open are left out: what a restore brings back must not be sent. */
async function insertDeliveries(
  query: Query,
  clientId: string,
  histories: readonly TransactionHistory[],
): Promise<void> {
  const deliveries = histories.flatMap((history) => history.deliveries);
  const attempts = deliveries.flatMap(({ endpointId, sequence, attempts: own }) =>
    own.map((attempt) => ({ endpointId, sequence, ...attempt })),
  );
  await query(
    `insert into tiba.callback_attempts
       (client_id, endpoint_id, sequence, attempt, started_at, duration_ms, http_status, answer, error)
     select $1, k.*
       from unnest($2::text[], $3::bigint[], $4::int[], $5::timestamptz[], $6::int[], $7::smallint[], $8::text[],
                   $9::text[]) as k
     on conflict do nothing`,
    [
      clientId,
      attempts.map(({ endpointId }) => endpointId),
      attempts.map(({ sequence }) => sequence),
      attempts.map(({ attempt }) => attempt),
      attempts.map(({ startedAt }) => startedAt),
      attempts.map(({ durationMs }) => durationMs),
      attempts.map(({ httpStatus }) => httpStatus),
      attempts.map(({ answer }) => answer),
      attempts.map(({ error }) => error),
    ],
  );
  const exhausted = deliveries.filter(({ state }) => state === 'exhausted');
  await query(
    `insert into tiba.callback_outbox
       (client_id, endpoint_id, sequence, next_attempt_at, ended_at, attempts, state)
     select e.client_id, e.endpoint_id, k.sequence, k.ended_at, k.ended_at, k.attempts, 'exhausted'
       from unnest($2::text[], $3::bigint[], $4::timestamptz[], $5::int[])
         as k (endpoint_id, sequence, ended_at, attempts)
       join tiba.callback_endpoints e on e.client_id = $1 and e.endpoint_id = k.endpoint_id collate "C"
     on conflict do nothing`,
    [
      clientId,
      exhausted.map(({ endpointId }) => endpointId),
      exhausted.map(({ sequence }) => sequence),
      exhausted.map(({ endedAt }) => endedAt),
      exhausted.map(({ attempts: own }) => own.at(-1)?.attempt ?? 0),
    ],
  );
}
