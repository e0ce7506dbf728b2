import type { EventKind } from '../domain/event.ts';
import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { Database, Query } from './database.ts';
import { selectDeliveryJobs } from './delivery-jobs.ts';
import { insertEventsOf } from './distributed-events.ts';
import { databaseOfClient, ofClient } from './one-client.ts';
import { eventDataJson, printed } from './rendered-transactions.ts';
import type { TransactionKey } from './transactions.ts';

/** An event without its number in the client's sequence. */
export interface NewEvent {
  readonly clientId: string;
  /** The ID of a transaction, a job or a bank; unique among all subjects of a client. */
  readonly subjectId: string;
  /** The version of the subject after the event. */
  readonly version: number;
  readonly kind: EventKind;
  /** ISO 8601 UTC. */
  readonly occurredAt: string;
  /** The subject as the API shows it, JSON text; null for a transaction, which shows it itself. */
  readonly data: string | null;
}

export interface Event extends NewEvent {
  /** The subject as the API showed it after the event, JSON text. */
  readonly data: string;
  /** From 1, without gaps, for each client. */
  readonly sequence: number;
}

/** `later`: how many events of its client come after it in the same call. */
const COLUMNS = ['client_id', 'subject_id', 'version', 'kind', 'occurred_at', 'data', 'later'] as const;

/**
 * Numbers each event in its client's sequence, and adds deliveries and jobs for the endpoints that want it. The
 * client's row in `event_sequences` stays locked until the database transaction ends, so numbers become visible in
 * order and without gaps. Call it last, to hold the lock briefly.
 */
export async function insertEvents(query: Query, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  const byClient = Map.groupBy(events, ({ clientId }) => clientId);
  if (query.distributed === true) {
    // In the order of their IDs, so that concurrent transactions with the same clients cannot deadlock.
    for (const [clientId, own] of [...byClient].sort(([one], [other]) => (one < other ? -1 : 1))) {
      await insertEventsOf(query, clientId, own);
    }
    return;
  }
  const rows: Record<(typeof COLUMNS)[number], string | null>[] = [];
  // Client by client: the rows of one client are then side by side in the indexes.
  for (const own of byClient.values()) {
    for (const [index, each] of own.entries()) {
      rows.push({
        client_id: each.clientId,
        subject_id: each.subjectId,
        version: String(each.version),
        kind: each.kind,
        occurred_at: each.occurredAt,
        data: each.data,
        later: String(own.length - 1 - index),
      });
    }
  }
  await query(INSERT_SQL, toColumnParameters(COLUMNS, rows), 'insert-events');
}

const INSERT_SQL = `
with input as (
  select * from ${tableFromParameters(COLUMNS)}
), numbered as (
  insert into tiba.event_sequences as counts (client_id, last_sequence)
  -- In key order, so that concurrent transactions with the same clients cannot deadlock.
  select client_id, count(*) from input group by client_id order by client_id
  on conflict (client_id) do update set last_sequence = counts.last_sequence + excluded.last_sequence
  returning client_id, last_sequence
), inserted_events as (
  insert into tiba.events (client_id, sequence, subject_id, version, kind, occurred_at, data)
  select client_id, last_sequence - later::int, subject_id, version::int, kind::tiba.event_kind,
         occurred_at::timestamptz, nullif(data, '')
    from input join numbered using (client_id)
  returning client_id, sequence, kind
), inserted_deliveries as (
  insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at)
  select client_id, endpoint_id, sequence, now()
    from inserted_events v join tiba.callback_endpoints e using (client_id)
   where e.disabled_at is null and v.kind::text = any (e.kinds)
  returning client_id, endpoint_id
)
${selectDeliveryJobs('(select distinct client_id, endpoint_id from inserted_deliveries) as due')}`;

/**
 * SQL for what the subject of an event `v` looked like after it; read it with `eventDataJson`. An event of a
 * transaction has it only when the transaction looks different now.
 */
export const EVENT_DATA = `coalesce(v.data,
            (select ${printed('t')} from tiba.transactions_final t
              where t.client_id = v.client_id and t.transaction_id = v.subject_id ${ofClient('t')}),
            (select ${printed('t')} from tiba.transactions_in_process t
              where t.client_id = v.client_id and t.transaction_id = v.subject_id ${ofClient('t')}))`;

/** Stores with the earlier events of these transactions what they look like now. Call it before they change. */
export async function keepEventData(query: Query, keys: readonly TransactionKey[]): Promise<void> {
  if (keys.length === 0) return;
  await query(
    `with kept as materialized (
       select t.client_id, t.transaction_id, ${printed('t')} as data
         from unnest($1::text[], $2::text[]) as k (client_id, transaction_id)
         join tiba.transactions t
           on t.client_id = k.client_id collate "C" and t.transaction_id = k.transaction_id collate "C" ${ofClient('t')}
     )
     update tiba.events v set data = kept.data
       from kept
      where v.subject_id = kept.transaction_id and v.client_id = kept.client_id ${ofClient('v')} and v.data is null`,
    [keys.map((key) => key.clientId), keys.map((key) => key.transactionId)],
  );
}

/** The client's events with a sequence above `after` that were not removed after their retention time, in order. */
export async function listEvents(
  database: Database,
  clientId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<Event[]> {
  const rows = await databaseOfClient(database, clientId).query<EventRow>(
    `select client_id, sequence, subject_id, version, kind, occurred_at, ${EVENT_DATA} as data from tiba.events v
      -- Below removed_up_to there may be some that an open delivery needs, and gaps.
      where client_id = $1
        and sequence > greatest($2, (select removed_up_to from tiba.event_sequences where client_id = $1))
      order by sequence limit $3`,
    [clientId, after, limit],
    'list-events',
  );
  return rows.map((row) => ({
    clientId: row.client_id,
    sequence: Number(row.sequence),
    subjectId: row.subject_id,
    version: row.version,
    kind: row.kind,
    occurredAt: row.occurred_at.toISOString(),
    data: eventDataJson(row.data, row.subject_id),
  }));
}

interface EventRow extends Record<string, unknown> {
  client_id: string;
  sequence: string;
  subject_id: string;
  version: number;
  kind: EventKind;
  occurred_at: Date;
  data: string | null;
}
