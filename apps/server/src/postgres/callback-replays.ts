import {
  DELIVERIES,
  DELIVERY_COLUMNS,
  DELIVERY_STATES,
  type Delivery,
  type DeliveryKey,
  type DeliveryRow,
  toDelivery,
} from './callback-history.ts';
import { rangeWith, takeOutOfRanges } from './callback-outbox-ranges.ts';
import type { Database, Query } from './database.ts';
import { databaseOfClient } from './distributed/one-client.ts';
import { type EndpointKey, notifyDue } from './due-endpoints.ts';

/**
 * Restarts the retry schedule of a delivery with an attempt at once. `disabled`: its endpoint is, so nothing is
 * replayed.
 */
export function replayDelivery(database: Database, key: DeliveryKey): Promise<Delivery | 'not_found' | 'disabled'> {
  const { clientId, endpointId, sequence } = key;
  return databaseOfClient(database, clientId).transaction(async (query) => {
    const { rows } = await query<{ disabled: boolean }>(
      `select e.disabled_at is not null as disabled
         from ${DELIVERIES} d join tiba.callback_endpoints e using (client_id, endpoint_id)
        where d.client_id = $1 and d.endpoint_id = $2 and d.sequence = $3`,
      [clientId, endpointId, sequence],
    );
    if (rows[0] === undefined) return 'not_found';
    if (rows[0].disabled) return 'disabled';
    // A delivery needs its event: their retention waits for this.
    const { rowCount } = await query('select from tiba.events where client_id = $1 and sequence = $2 for key share', [
      clientId,
      sequence,
    ]);
    if (rowCount === 0) return 'not_found';
    await takeOutOfRanges(query, key, { first: sequence, last: sequence });
    await query(
      `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, attempts, attempts_before)
       select v.client_id, $2, v.sequence, now(), a.attempts, a.attempts
         from tiba.events v ${JOIN_ATTEMPTS}
        where v.client_id = $1 and v.sequence = $3
       on conflict (client_id, endpoint_id, sequence) do update set ${RESTART_SCHEDULE}`,
      [clientId, endpointId, sequence],
    );
    const { rows: replayed } = await query<DeliveryRow>(
      `select ${DELIVERY_COLUMNS}
         from ${DELIVERIES} d join tiba.events v on v.client_id = d.client_id and v.sequence = d.sequence
        where d.client_id = $1 and d.endpoint_id = $2 and d.sequence = $3`,
      [clientId, endpointId, sequence],
    );
    await notifyDue(query, [key]);
    return replayed.map(toDelivery)[0] ?? 'not_found';
  });
}

const RESTART_SCHEDULE = `state = 'pending', attempts_before = callback_outbox.attempts,
       next_attempt_at = excluded.next_attempt_at,
       claimed_until = null, ended_at = null`;

/**
 * SQL: how many attempts `a` of the endpoint $2 of the client $1 have begun for the event `v`, and whether one
 * succeeded. An attempt may still be in flight when an earlier one succeeds.
 */
const JOIN_ATTEMPTS = `
 cross join lateral (
   select coalesce(max(greatest(attempt, attempts_begun)), 0) as attempts,
          bool_or(http_status between 200 and 299) as delivered
     from tiba.callback_attempts
    where client_id = $1 and endpoint_id = $2 and sequence = v.sequence) a`;

/** `missing`: the endpoint wants this kind of event, but was not registered or was disabled when the event happened. */
export const REPLAYED_STATES = [...DELIVERY_STATES, 'missing'] as const;
export type ReplayedState = (typeof REPLAYED_STATES)[number];

/** Events of a client: those of a time, or those whose numbers are in a range. */
export type EventRange =
  | {
      readonly by: 'time';
      /** ISO 8601 UTC, inclusive. */
      readonly from: string;
      /** ISO 8601 UTC, exclusive. */
      readonly to: string;
    }
  | {
      readonly by: 'sequence';
      readonly first: number;
      /** Inclusive. */
      readonly last: number;
    };

export interface ReplayRange {
  readonly events: EventRange;
  /** null for all deliveries, missing ones included. */
  readonly state: ReplayedState | null;
  /**
   * Days for which the attempts of deliveries are kept; 0: no limit. Of older events nothing says which were delivered,
   * so none of them is `missing`.
   */
  readonly callbackDays: number;
  /** The sequence of the last event of the previous call; null for the first call. */
  readonly after: number | null;
  /** When that event occurred, as PostgreSQL writes it, where it is known: the event may have been removed since. */
  readonly afterTime?: string | null;
  /** Events to examine at most. */
  readonly limit: number;
}

interface Refused {
  readonly outcome: 'not_found' | 'disabled' | 'unknown_after';
}

interface TooOld {
  /** Of the whole range nothing says which events are missing. */
  readonly outcome: 'too_old';
  /** The time from which it is known. */
  readonly from: string;
}

interface Examined {
  /** The range; it begins later when what is missing is known from then on only. */
  readonly events: EventRange;
  /** The sequence of the last examined event; null when the range is done. */
  readonly nextAfter: number | null;
}

interface Replayed extends Examined {
  readonly outcome: 'replayed';
  readonly count: number;
  readonly examined: number;
  /** When the last examined event occurred, as PostgreSQL writes it. */
  readonly lastTime: string | null;
}

export type ReplayOutcome = Replayed | Refused | TooOld;

/**
 * Makes the deliveries of a range of events pending again, or creates missing ones, in the order of the events. The
 * limit counts examined events instead of replayed ones, so that the cost is bounded even when few of them match.
 */
export const replayRange = (database: Database, key: EndpointKey, range: ReplayRange): Promise<ReplayOutcome> =>
  databaseOfClient(database, key.clientId).transaction((query) => replayRangeIn(query, key, range));

/** The same within a database transaction. */
export async function replayRangeIn(query: Query, key: EndpointKey, range: ReplayRange): Promise<ReplayOutcome> {
  const start = await startOf(query, key, range, 'for share');
  if ('outcome' in start) return start;
  await takeOutExamined(query, key, range.events.by, start.parameters);
  const replay = query.distributed === true ? replayInTwoSteps : replayAtOnce;
  const { count, examined, more, last, last_time: lastTime } = await replay(query, range.events.by, start.parameters);
  if (count > 0) await notifyDue(query, [key]);
  const nextAfter = more ? Number(last) : null;
  return { outcome: 'replayed', count, examined, events: start.events, nextAfter, lastTime };
}

/** Of the deliveries that are replayed, those in ranges get rows of their own. */
async function takeOutExamined(
  query: Query,
  key: EndpointKey,
  by: EventRange['by'],
  parameters: readonly unknown[],
): Promise<void> {
  if (query.distributed === true) return;
  const { rows } = await query<{ first: string | null; last: string | null }>(
    `with ${examinedSql(by, 'for key share')}
     select min(sequence) as first, max(sequence) as last from examined
      where ($3::text is null or $3 = 'pending')
        and exists (select from tiba.callback_outbox_ranges where client_id = $1 and endpoint_id = $2)`,
    parameters,
  );
  const { first = null, last = null } = rows[0] ?? {};
  if (first !== null) await takeOutOfRanges(query, key, { first: Number(first), last: Number(last) });
}

interface ExaminedRow extends Record<string, unknown> {
  examined: number;
  more: boolean;
  last: string | null;
  last_time: string | null;
}

const NOTHING = { count: 0, examined: 0, more: false, last: null, last_time: null };

async function replayAtOnce(
  query: Query,
  by: EventRange['by'],
  parameters: readonly unknown[],
): Promise<ExaminedRow & { readonly count: number }> {
  const { rows } = await query<ExaminedRow & { readonly count: number }>(replaySql(by), parameters);
  return rows[0] ?? NOTHING;
}

/** On a distributed PostgreSQL, which sends the parts of a statement with an insert to all nodes. */
async function replayInTwoSteps(
  query: Query,
  by: EventRange['by'],
  parameters: readonly unknown[],
): Promise<ExaminedRow & { readonly count: number }> {
  const { rows } = await query<ExaminedRow & { sequences: string[]; attempts: number[] }>(selectSql(by), parameters);
  const [row] = rows;
  if (row === undefined) return NOTHING;
  const [clientId, endpointId] = parameters;
  await query(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, attempts, attempts_before)
     select $1, $2, sequence, now(), attempts, attempts from unnest($3::bigint[], $4::int[]) as k (sequence, attempts)
     on conflict (client_id, endpoint_id, sequence) do update set ${RESTART_SCHEDULE}`,
    [clientId, endpointId, row.sequences, row.attempts],
  );
  return { ...row, count: row.sequences.length };
}

export type ReplayCount =
  | ({
      readonly outcome: 'counted';
      /** The events that a replay would send. */
      readonly sequences: readonly number[];
      /** The transactions that some of them are about. */
      readonly transactionIds: readonly string[];
    } & Examined)
  | Refused
  | TooOld;

/** What `replayRange` would do; nothing is changed. */
export function countReplay(database: Database, key: EndpointKey, range: ReplayRange): Promise<ReplayCount> {
  return databaseOfClient(database, key.clientId).transaction(async (query) => {
    const start = await startOf(query, key, range, '');
    if ('outcome' in start) return start;
    const { rows } = await query<{
      sequences: number[];
      transaction_ids: string[];
      more: boolean;
      last: string | null;
    }>(countSql(range.events.by), start.parameters);
    const { sequences = [], transaction_ids: transactionIds = [], more = false, last = null } = rows[0] ?? {};
    const nextAfter = more ? Number(last) : null;
    return { outcome: 'counted', sequences, transactionIds, events: start.events, nextAfter };
  });
}

interface Start {
  readonly events: EventRange;
  readonly parameters: readonly unknown[];
}

async function startOf(
  query: Query,
  key: EndpointKey,
  range: ReplayRange,
  lock: 'for share' | '',
): Promise<Start | Refused | TooOld> {
  const { clientId, endpointId } = key;
  const { events, state, after, afterTime = null, limit } = range;
  const { rows: endpoints } = await query<{ disabled: boolean }>(
    `select disabled_at is not null as disabled from tiba.callback_endpoints
      where client_id = $1 and endpoint_id = $2 ${lock}`,
    [clientId, endpointId],
  );
  if (endpoints[0] === undefined) return { outcome: 'not_found' };
  if (endpoints[0].disabled) return { outcome: 'disabled' };
  const common = [clientId, endpointId, state, limit];
  if (events.by === 'sequence') {
    return { events, parameters: [...common, after ?? events.first - 1, events.last] };
  }
  const from = state === 'missing' ? await laterOf(query, events.from, range.callbackDays) : events.from;
  if (from >= events.to) return { outcome: 'too_old', from };
  const position = await positionOf(query, clientId, { from, after, afterTime });
  if (position === null) return { outcome: 'unknown_after' };
  return { events: { ...events, from }, parameters: [...common, position.after, events.to, position.from] };
}

/** That time, or the time from which deliveries are kept. Attempts begin after their event. */
async function laterOf(query: Query, from: string, callbackDays: number): Promise<string> {
  const { rows } = await query<{ later: Date }>(
    `select greatest($1::timestamptz, now() - nullif($2::int, 0) * interval '24 hours') as later`,
    [from, callbackDays],
  );
  return rows[0]?.later.toISOString() ?? from;
}

/**
 * Many events have the same time, so a position among them is a time and a sequence. The time is text as PostgreSQL
 * writes it: a `Date` would lose the microseconds, and the event would be after its own position.
 */
async function positionOf(
  query: Query,
  clientId: string,
  { from, after, afterTime }: Pick<ReplayRange, 'after'> & { readonly from: string; readonly afterTime: string | null },
): Promise<{ from: string; after: number } | null> {
  if (after === null) return { from, after: 0 };
  const { rows } = await query<{ time: string; is_before: boolean }>(
    `select time::text, time < $3::timestamptz as is_before
       from (select coalesce($4::timestamptz, (select occurred_at from tiba.events
                                                where client_id = $1 and sequence = $2)) as time) as position
      where time is not null`,
    [clientId, after, from, afterTime],
  );
  const [event] = rows;
  if (event === undefined) return null;
  return event.is_before ? { from, after: 0 } : { from: event.time, after };
}

/** SQL: which events are in the range, and their order. */
const RANGES = {
  time: {
    condition: '(occurred_at, sequence) > ($7::timestamptz, $5::bigint) and occurred_at < $6::timestamptz',
    order: ['occurred_at', 'sequence'],
  },
  sequence: { condition: 'sequence > $5::bigint and sequence <= $6::bigint', order: ['sequence'] },
} as const;

/** SQL: the next events of the range as `examined`. */
function examinedSql(by: EventRange['by'], lock: 'for key share' | ''): string {
  const { condition, order } = RANGES[by];
  return `
remaining as (
  -- One event more than the limit shows whether the range is done.
  select sequence, occurred_at, kind, subject_id from tiba.events
   where client_id = $1 and ${condition}
   order by ${order.join(', ')} limit $4::int + 1
     ${lock}
), examined as (
  select * from remaining order by ${order.join(', ')} limit $4::int
)`;
}

/** SQL: the same, and as `selected` those that are replayed. */
function selectedSql(by: EventRange['by'], lock: 'for key share' | ''): string {
  return `${examinedSql(by, lock)}, selected as (
  select v.sequence, v.kind, v.subject_id, a.attempts
    from examined v
    join tiba.callback_endpoints e on e.client_id = $1 and e.endpoint_id = $2
    left join tiba.callback_outbox d
      on d.client_id = $1 and d.endpoint_id = $2 and d.sequence = v.sequence
    left join ${rangeWith('$1', '$2', 'v.sequence')} on true
   ${JOIN_ATTEMPTS}
   where (d.state is not null or r.due_at is not null or a.delivered or v.kind::text = any (e.kinds))
     and ($3::text is null
          or coalesce(d.state, case when r.due_at is not null then 'pending' when a.delivered then 'delivered' end,
                      'missing') = $3)
)`;
}

/** SQL: whether events are left, and the last one that was examined. */
function restSql(by: EventRange['by']): string {
  const latestFirst = RANGES[by].order.map((column) => `${column} desc`).join(', ');
  return `(select count(*) from remaining) > (select count(*) from examined) as more,
       (select sequence from examined order by ${latestFirst} limit 1)::text as last,
       (select occurred_at from examined order by ${latestFirst} limit 1)::text as last_time`;
}

// A delivery needs its event: their retention waits for the lock.
const replaySql = (by: EventRange['by']): string => `
with ${selectedSql(by, 'for key share')}, replayed as (
  insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, attempts, attempts_before)
  select $1, $2, sequence, now(), attempts, attempts from selected order by sequence
  on conflict (client_id, endpoint_id, sequence) do update set ${RESTART_SCHEDULE}
  returning sequence
)
select (select count(*) from replayed)::int as count, (select count(*) from examined)::int as examined,
       ${restSql(by)}`;

/** What `replaySql` inserts. */
const selectSql = (by: EventRange['by']): string => `
with ${selectedSql(by, 'for key share')}
select (select coalesce(array_agg(sequence order by sequence), '{}') from selected) as sequences,
       (select coalesce(array_agg(attempts order by sequence), '{}') from selected) as attempts,
       (select count(*) from examined)::int as examined, ${restSql(by)}`;

const countSql = (by: EventRange['by']): string => `
with ${selectedSql(by, '')}
select (select coalesce(array_agg(sequence::float8), '{}') from selected) as sequences,
       (select coalesce(array_agg(distinct subject_id::text), '{}')
          from selected where starts_with(kind::text, 'disbursement.')) as transaction_ids,
       ${restSql(by)}`;
