import type { EventKind } from '../domain/event.ts';
import type { Transaction } from '../domain/transaction.ts';
import { DELIVERIES, type DeliveryState } from './callback-history.ts';
import type { Database } from './database.ts';
import { databaseOfClient, ofClient } from './distributed/one-client.ts';
import { TRANSACTION_COLUMNS, type TransactionKey, type TransactionRow, toTransaction } from './transactions.ts';

/** What is stored about one transaction, for the operator. Times are ISO 8601 UTC. */

/** The transactions with this ID: of one client, or of all; two are enough to see that there are several. */
export async function findTransactionsById(
  database: Database,
  transactionId: string,
  clientId: string | null,
): Promise<Transaction[]> {
  const rows = await database.query<TransactionRow>(
    `select ${TRANSACTION_COLUMNS} from tiba.transactions t
      where t.transaction_id = $1 and ($2::text is null or t.client_id = $2) order by t.client_id limit 2`,
    [transactionId, clientId],
  );
  return rows.map(toTransaction);
}

/** The schedule of status inquiries; the bank is no longer asked when it is null. */
export interface InquirySchedule {
  readonly rail: string;
  readonly nextAt: string;
  readonly lastInquiredAt: string | null;
  readonly unknownSince: string | null;
  readonly reviewSince: string | null;
}

export async function findInquirySchedule(
  database: Database,
  { clientId, transactionId }: TransactionKey,
): Promise<InquirySchedule | null> {
  const [row] = await database.query<ScheduleRow>(
    `select rail, next_at, last_inquired_at, unknown_since, review_since
       from tiba.status_inquiries where client_id = $1 and transaction_id = $2`,
    [clientId, transactionId],
  );
  if (row === undefined) return null;
  return {
    rail: row.rail,
    nextAt: row.next_at.toISOString(),
    lastInquiredAt: row.last_inquired_at?.toISOString() ?? null,
    unknownSince: row.unknown_since?.toISOString() ?? null,
    reviewSince: row.review_since?.toISOString() ?? null,
  };
}

interface ScheduleRow extends Record<string, unknown> {
  rail: string;
  next_at: Date;
  last_inquired_at: Date | null;
  unknown_since: Date | null;
  review_since: Date | null;
}

export interface TransactionEvent {
  readonly sequence: number;
  readonly version: number;
  readonly kind: EventKind;
  readonly occurredAt: string;
}

/** The events of a transaction, in order. It has a few at most. */
export async function listTransactionEvents(
  database: Database,
  { clientId, transactionId }: TransactionKey,
  limit: number,
): Promise<TransactionEvent[]> {
  const rows = await database.query<{ sequence: string; version: number; kind: EventKind; occurred_at: Date }>(
    `select sequence, version, kind, occurred_at from tiba.events
      where subject_id = $2 and client_id = $1 collate "POSIX" order by version limit $3`,
    [clientId, transactionId, limit],
  );
  return rows.map((row) => ({
    sequence: Number(row.sequence),
    version: row.version,
    kind: row.kind,
    occurredAt: row.occurred_at.toISOString(),
  }));
}

export interface EventDelivery {
  readonly endpointId: string;
  /** The address without path and query, which may hold keys of the client. */
  readonly origin: string;
  readonly sequence: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly nextAttemptAt: string | null;
  readonly endedAt: string | null;
}

/** The deliveries of these events, to each endpoint of their client. */
export async function listEventDeliveries(
  database: Database,
  clientId: string,
  sequences: readonly number[],
): Promise<EventDelivery[]> {
  if (sequences.length === 0) return [];
  const rows = await databaseOfClient(database, clientId).query<DeliveryRow>(
    `select d.endpoint_id, e.url, d.sequence, d.state, d.attempts, d.next_attempt_at, d.ended_at
       from tiba.callback_endpoints e
      cross join lateral (
        select * from ${DELIVERIES} own
         where own.client_id = e.client_id and own.endpoint_id = e.endpoint_id and own.sequence = any ($2::bigint[])
               ${ofClient('own')}
         -- Without this, the view would be read as a whole.
        offset 0
      ) d
      where e.client_id = $1 order by d.sequence, d.endpoint_id`,
    [clientId, sequences],
  );
  return rows.map((row) => ({
    endpointId: row.endpoint_id,
    origin: new URL(row.url).origin,
    sequence: Number(row.sequence),
    state: row.state,
    attempts: row.attempts,
    nextAttemptAt: row.next_attempt_at?.toISOString() ?? null,
    endedAt: row.ended_at?.toISOString() ?? null,
  }));
}

interface DeliveryRow extends Record<string, unknown> {
  endpoint_id: string;
  url: string;
  sequence: string;
  state: DeliveryState;
  attempts: number;
  next_attempt_at: Date | null;
  ended_at: Date | null;
}
