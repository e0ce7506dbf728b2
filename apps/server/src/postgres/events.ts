import type { EventKind } from '../domain/event.ts';
import { insertOutboxRanges, type OutboxRange, outboxRangesOf } from './callback-outbox-ranges.ts';
import { type CopyValue, copySql, copyText } from './copy.ts';
import type { Database, Query } from './database.ts';
import { insertEventsOf } from './distributed/events.ts';
import { databaseOfClient, ofClient } from './distributed/one-client.ts';
import { dueNotifications, type EndpointKey } from './due-endpoints.ts';
import { type Notifications, notify } from './notification-payloads.ts';
import { eventDataJson, printed } from './rendered-transactions.ts';
import type { TransactionKey } from './transactions.ts';

/** An event without its number in the client's sequence, and without its time. */
export interface NewEvent {
  readonly clientId: string;
  /** The ID of a transaction, a bulk validation or a bank; unique among all subjects of a client. */
  readonly subjectId: string;
  /** The version of the subject after the event. */
  readonly version: number;
  readonly kind: EventKind;
  /** The subject as the API shows it, JSON text; null for a transaction, which shows it itself. */
  readonly data: string | null;
}

export interface Event extends NewEvent {
  /** The subject as the API showed it after the event, JSON text. */
  readonly data: string;
  /** From 1, without gaps, for each client. */
  readonly sequence: number;
  /** ISO 8601 UTC. Not earlier than that of the client's event before it. */
  readonly occurredAt: string;
}

/**
 * Numbers each event in its client's sequence, and adds deliveries for the endpoints that want it. The
 * client's row in `event_sequences` stays locked until the database transaction ends, so numbers become visible in
 * order and without gaps. Call it last, to hold the lock briefly.
 *
 * The events occurred at `occurredAt`, ISO 8601 UTC. Of a client that has a later event, they get the time of that one:
 * the clocks of processes differ, and clocks are set back, but the times of a client's events never go back. So they
 * are found by time without an index (event-times.ts).
 *
 * `notifications` are sent with those of the deliveries, when the database transaction commits.
 */
export async function insertEvents(
  query: Query,
  events: readonly NewEvent[],
  occurredAt: string,
  notifications: readonly Notifications[] = [],
): Promise<void> {
  if (events.length === 0) return notify(query, notifications);
  const byClient = Map.groupBy(events, ({ clientId }) => clientId);
  if (query.distributed === true) {
    // In the order of their IDs, so that concurrent transactions with the same clients cannot deadlock.
    for (const [clientId, own] of [...byClient].sort(([one], [other]) => (one < other ? -1 : 1))) {
      await insertEventsOf(query, clientId, own, occurredAt);
    }
    return notify(query, notifications);
  }
  const rows = await numberEvents(query, byClient, occurredAt);
  const eventRows: string[] = [];
  const ranges: OutboxRange[] = [];
  const due: EndpointKey[] = [];
  // Client by client: the rows of one client are then side by side in the indexes.
  for (const { client_id: clientId, last_sequence: last, last_time: time, endpoint_ids: endpointIds, kinds } of rows) {
    const own = byClient.get(clientId) ?? [];
    const first = Number(last) - own.length + 1;
    const numbered = copyText(own, (event, value, index) => eventRow(event, { sequence: first + index, time }, value));
    eventRows.push(...numbered);
    for (const [position, endpointId] of endpointIds.entries()) {
      const wanted = new Set(kinds[position]?.split(','));
      const endpoint = { clientId, endpointId };
      const sequences = sequencesOf(own, first, wanted);
      if (sequences.length === 0) continue;
      ranges.push(...outboxRangesOf(endpoint, sequences));
      due.push(endpoint);
    }
  }
  await query.copy(EVENTS_SQL, eventRows);
  if (ranges.length === 0) return notify(query, notifications);
  await insertOutboxRanges(query, ranges, [...notifications, dueNotifications(due)]);
}

/** The numbers of the events of these kinds. `first` is that of the first event. */
function sequencesOf(events: readonly NewEvent[], first: number, kinds: ReadonlySet<string>): number[] {
  const sequences: number[] = [];
  for (const [index, { kind }] of events.entries()) if (kinds.has(kind)) sequences.push(first + index);
  return sequences;
}

/** Numbers the events, and finds the endpoints that want events of these clients. */
async function numberEvents(
  query: Query,
  byClient: ReadonlyMap<string, { readonly length: number }>,
  occurredAt: string,
): Promise<readonly NumberedRow[]> {
  const clients = [...byClient.keys()];
  const counts = Array.from(byClient.values(), ({ length }) => length);
  const { rows } = await query<NumberedRow>(NUMBER_SQL, [clients, counts, occurredAt], 'number-events');
  if (rows.every(({ is_current: isCurrent }) => isCurrent)) return rows;
  return (await query<NumberedRow>(CURRENT_SQL, [clients])).rows;
}

/**
 * Call it last in a database transaction that registers or changes endpoints of this client: once it is committed, each
 * event that is committed later has its deliveries.
 *
 * It locks the client's row in `event_sequences`, so the transaction commits before the events of another one are
 * numbered, or after they are committed. In the first case that one may have waited for the row with a snapshot without
 * this change: then it finds another version in the row than in its snapshot, and reads the endpoints again.
 */
export async function noteEndpointChange(query: Query, clientId: string): Promise<void> {
  await query(
    // The row may be missing: without it, the client's first event would not wait.
    `insert into tiba.event_sequences as counts (client_id, last_sequence, endpoints_version) values ($1, 0, 1)
     on conflict (client_id) do update set endpoints_version = counts.endpoints_version + 1`,
    [clientId],
  );
}

const eventRow = (
  { clientId, version, subjectId, kind, data }: NewEvent,
  { sequence, time }: { readonly sequence: number; readonly time: string },
  value: CopyValue,
): string =>
  `${value(clientId)}\t${sequence}\t${value(time)}\t${version}\t${value(subjectId)}\t${kind}\t${value(data)}`;

const EVENTS_SQL = copySql('tiba.events', [
  'client_id',
  'sequence',
  'occurred_at',
  'version',
  'subject_id',
  'kind',
  'data',
]);

interface NumberedRow extends Record<string, unknown> {
  client_id: string;
  /** Of the client's last event in this call, in decimal digits. */
  last_sequence: string;
  /** When the client's events of this call occurred, as PostgreSQL writes it: a `Date` would lose the microseconds. */
  last_time: string;
  /** The enabled endpoints, and the kinds that each wants, with commas between them. */
  endpoint_ids: string[];
  kinds: string[];
  /** False when the statement may not see endpoints that were changed while it waited: see `noteEndpointChange`. */
  is_current: boolean;
}

/** SQL: the endpoints of each client `n`. */
const withEndpoints = (numbered: string): string => `
select n.client_id, n.last_sequence, n.last_occurred_at::text as last_time,
       coalesce(array_agg(e.endpoint_id) filter (where e.endpoint_id is not null), '{}') as endpoint_ids,
       coalesce(array_agg(array_to_string(e.kinds, ',')) filter (where e.endpoint_id is not null), '{}') as kinds,
       -- Of the row as it was locked, and as the snapshot of this statement has it.
       n.endpoints_version is not distinct from (select s.endpoints_version from tiba.event_sequences s
                                                  where s.client_id = n.client_id) as is_current
  from ${numbered} n
  left join tiba.callback_endpoints e on e.client_id = n.client_id and e.disabled_at is null
 group by n.client_id, n.last_sequence, n.last_occurred_at, n.endpoints_version`;

const NUMBER_SQL = `
with numbered as (
  insert into tiba.event_sequences as counts (client_id, last_sequence, last_occurred_at)
  -- In key order, so that concurrent transactions with the same clients cannot deadlock. PostgreSQL cannot see in a
  -- subquery how many clients there are: otherwise it would make a plan for each execution, which takes as long as it.
  select client_id, count, $3::timestamptz
    from unnest((select $1::text[]), (select $2::bigint[])) as k (client_id, count)
   order by client_id
  on conflict (client_id) do update
     set last_sequence = counts.last_sequence + excluded.last_sequence,
         -- greatest() leaves null out.
         last_occurred_at = greatest(counts.last_occurred_at, excluded.last_occurred_at)
  returning client_id, last_sequence, last_occurred_at, endpoints_version
)${withEndpoints('numbered')}`;

const CURRENT_SQL = withEndpoints('(select * from tiba.event_sequences where client_id = any ($1))');

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
       select own.client_id, own.transaction_id, own.data
         from unnest($1::text[], $2::text[]) as k (client_id, transaction_id)
        -- A look-up for each key: a join may read all transactions instead.
        cross join lateral (
          select t.client_id, t.transaction_id, ${printed('t')} as data from tiba.transactions t
           where t.client_id = k.client_id collate "C" and t.transaction_id = k.transaction_id collate "C"
                 ${ofClient('t')}
           limit 1) as own
     )
     update tiba.events v set data = own.data
       from (select kept.client_id, kept.data, event.place
               from kept
              cross join lateral (
                -- No index has client_id with this collation: with one, PostgreSQL may read all events of the client.
                select e.ctid as place from tiba.events e
                 where e.subject_id = kept.transaction_id and e.client_id = kept.client_id collate "POSIX"
                   and e.data is null ${ofClient('e')}
                offset 0) as event) as own
      -- By its place: a join by key may read all events instead.
      where v.ctid = own.place and v.client_id = own.client_id ${ofClient('v')}`,
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
