import type { EventKind } from '../domain/event.ts';
import { type Transaction, transactionJson } from '../domain/transaction.ts';
import { type Attempt, type AttemptRow, type DeliveryState, toAttempt } from './callback-history.ts';
import { rangeWith } from './callback-outbox-ranges.ts';
import type { Database } from './database.ts';
import { databaseOfClient } from './distributed/one-client.ts';
import { EVENT_DATA } from './events.ts';
import { eventDataJson } from './rendered-transactions.ts';
import { listStatusUpdatesOf, type StatusUpdateRecord } from './status-updates.ts';
import { TRANSACTION_COLUMNS, type TransactionRow, toTransaction } from './transactions.ts';

/** Everything that is stored about one transaction. Times are ISO 8601 UTC. */
export interface TransactionHistory {
  readonly transaction: Transaction;
  /** In order, as are the events. */
  readonly statusUpdates: readonly StatusUpdateRecord[];
  readonly events: readonly HistoryEvent[];
  readonly deliveries: readonly HistoryDelivery[];
}

export interface HistoryEvent {
  readonly sequence: number;
  readonly version: number;
  readonly kind: EventKind;
  readonly occurredAt: string;
  /** The transaction as the API showed it after the event, JSON text; null where it still looks the same. */
  readonly data: string | null;
}

/** The delivery of one of its events to one endpoint. */
export interface HistoryDelivery {
  readonly endpointId: string;
  readonly sequence: number;
  readonly state: DeliveryState;
  /** When it was given up; null otherwise. */
  readonly endedAt: string | null;
  readonly attempts: readonly Attempt[];
}

/** The histories of the client's transactions with these IDs that exist. A few hundred at a time. */
export async function readHistories(
  database: Database,
  clientId: string,
  transactionIds: readonly string[],
): Promise<TransactionHistory[]> {
  if (transactionIds.length === 0) return [];
  const rows = await database.query<TransactionRow>(
    `select ${TRANSACTION_COLUMNS} from tiba.transactions t
      where t.client_id = $1 and t.transaction_id = any ($2::text[]) order by t.transaction_id`,
    [clientId, transactionIds],
  );
  const statusUpdates = await listStatusUpdatesOf(database, clientId, transactionIds);
  const events = await readEvents(database, clientId, transactionIds);
  const sequences = [...events.values()].flatMap((each) => each.map(({ sequence }) => sequence));
  const deliveries = await readDeliveries(database, clientId, sequences);
  return rows.map(toTransaction).map((transaction) => {
    const rendered = transactionJson(transaction);
    const own = events.get(transaction.transactionId) ?? [];
    return {
      transaction,
      statusUpdates: statusUpdates.get(transaction.transactionId) ?? [],
      events: own.map((event) => (event.data === rendered ? { ...event, data: null } : event)),
      deliveries: own.flatMap(({ sequence }) => deliveries.get(sequence) ?? []),
    };
  });
}

interface EventRow extends Record<string, unknown> {
  subject_id: string;
  sequence: string;
  version: number;
  kind: EventKind;
  occurred_at: Date;
  data: string | null;
}

/** By transaction. */
async function readEvents(
  database: Database,
  clientId: string,
  transactionIds: readonly string[],
): Promise<Map<string, HistoryEvent[]>> {
  const rows = await databaseOfClient(database, clientId).query<EventRow>(
    `select v.subject_id, v.sequence, v.version, v.kind, v.occurred_at, ${EVENT_DATA} as data
       from tiba.events v
      where v.client_id = $1 collate "POSIX" and v.subject_id = any ($2::text[]) order by v.sequence`,
    [clientId, transactionIds],
  );
  const byTransaction = Map.groupBy(rows, (row) => row.subject_id);
  return new Map(byTransaction.entries().map(([transactionId, own]) => [transactionId, own.map(toEvent)]));
}

const toEvent = (row: EventRow): HistoryEvent => ({
  sequence: Number(row.sequence),
  version: row.version,
  kind: row.kind,
  occurredAt: row.occurred_at.toISOString(),
  data: row.data === null ? null : eventDataJson(row.data, row.subject_id),
});

interface DeliveryAttemptRow extends AttemptRow {
  endpoint_id: string;
  sequence: string;
}

interface OutboxRow extends Record<string, unknown> {
  endpoint_id: string;
  sequence: string;
  state: DeliveryState;
  ended_at: Date | null;
}

/** SQL: each endpoint of the client $1 with each of the sequences $2. */
const KEYS = `tiba.callback_endpoints e cross join unnest($2::bigint[]) as s (sequence)`;

/** By sequence. A delivery that is not in the outbox ended with an attempt that succeeded. */
async function readDeliveries(
  database: Database,
  clientId: string,
  sequences: readonly number[],
): Promise<Map<number, HistoryDelivery[]>> {
  if (sequences.length === 0) return new Map();
  const attempts = await database.query<DeliveryAttemptRow>(
    `select a.endpoint_id, a.sequence, a.attempt, a.started_at, a.duration_ms, a.http_status, a.answer, a.error
       from ${KEYS}
       join tiba.callback_attempts a
         on a.client_id = e.client_id and a.endpoint_id = e.endpoint_id and a.sequence = s.sequence
      where e.client_id = $1 order by a.sequence, a.endpoint_id, a.attempt`,
    [clientId, sequences],
  );
  const open = await database.query<OutboxRow>(
    `select o.endpoint_id, o.sequence, o.state, o.ended_at
       from ${KEYS}
       join tiba.callback_outbox o
         on o.client_id = e.client_id and o.endpoint_id = e.endpoint_id and o.sequence = s.sequence
      where e.client_id = $1
      union all
     select e.endpoint_id, s.sequence, 'pending', null
       from ${KEYS}
      cross join ${rangeWith('$1', 'e.endpoint_id', 's.sequence')}
      where e.client_id = $1
      order by sequence, endpoint_id`,
    [clientId, sequences],
  );
  const keyOfRow = (row: DeliveryAttemptRow | OutboxRow): string => `${row.sequence} ${row.endpoint_id}`;
  const attemptsByKey = Map.groupBy(attempts, keyOfRow);
  const openByKey = new Map(open.map((row) => [keyOfRow(row), row]));
  const keys = new Map([...attempts, ...open].map((row) => [keyOfRow(row), row]));
  const found = [...keys].map(([key, { endpoint_id: endpointId, sequence }]) => ({
    endpointId,
    sequence: Number(sequence),
    state: openByKey.get(key)?.state ?? ('delivered' as const),
    endedAt: openByKey.get(key)?.ended_at?.toISOString() ?? null,
    attempts: (attemptsByKey.get(key) ?? []).map(toAttempt),
  }));
  return Map.groupBy(found, ({ sequence }) => sequence);
}
