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
import { sequenceFrom } from './event-times.ts';

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
  /** The sequence of the last event of the previous call; null for the first call. It may have been removed since. */
  readonly after: number | null;
  /** Events to examine at most. */
  readonly limit: number;
}

interface Refused {
  readonly outcome: 'not_found' | 'disabled';
}

interface UnknownAfter {
  /** No event has had this sequence yet. */
  readonly outcome: 'unknown_after';
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
  /**
   * How much of the range was examined by this call and those before: from 0 to 1, by sequences. A range with the
   * restore of a backup in it, which skips sequences, is nearly done at once when it is past them.
   */
  readonly progress: number;
}

type ReplayStepOutcome = Replayed | Refused | TooOld;
export type ReplayOutcome = ReplayStepOutcome | UnknownAfter;

/**
 * Makes the deliveries of a range of events pending again, or creates missing ones, in the order of the events. The
 * limit counts examined events instead of replayed ones, so that the cost is bounded even when few of them match.
 */
export const replayRange = (database: Database, key: EndpointKey, range: ReplayRange): Promise<ReplayOutcome> =>
  databaseOfClient(database, key.clientId).transaction(async (query) => {
    const result = await replayRangeIn(query, key, range);
    if (result.outcome !== 'replayed' || result.examined > 0 || range.after === null) return result;
    return (await mayBePosition(query, key, range.after)) ? result : { outcome: 'unknown_after' };
  });

/** Whether the client has had an event with this sequence, or skipped it. */
async function mayBePosition(query: Query, { clientId }: EndpointKey, sequence: number): Promise<boolean> {
  const { rowCount } = await query(
    'select from tiba.events where client_id = $1 and sequence >= $2 order by sequence limit 1',
    [clientId, sequence],
  );
  return rowCount === 1;
}

/** The same within a database transaction, from a position that was returned before. */
export async function replayRangeIn(query: Query, key: EndpointKey, range: ReplayRange): Promise<ReplayStepOutcome> {
  const start = await startOf(query, key, range, 'for share');
  if ('outcome' in start) return start;
  const parameters = parametersOf(key, range, start);
  await takeOutExamined(query, key, parameters);
  const replay = query.distributed === true ? replayInTwoSteps : replayAtOnce;
  const { count, examined, more, last } = await replay(query, parameters);
  if (count > 0) await notifyDue(query, [key]);
  const nextAfter = more ? Number(last) : null;
  return {
    outcome: 'replayed',
    count,
    examined,
    events: start.events,
    nextAfter,
    progress: progressOf(start, nextAfter),
  };
}

/** A range of time may begin later than at the call before: so a position is not always in it. */
const progressOf = ({ first, last }: Start, nextAfter: number | null): number =>
  nextAfter === null ? 1 : Math.min(Math.max((nextAfter - first + 1) / (last - first + 1), 0), 1);

/** Of the deliveries that are replayed, those in ranges get rows of their own. */
async function takeOutExamined(query: Query, key: EndpointKey, parameters: readonly unknown[]): Promise<void> {
  if (query.distributed === true) return;
  const { rows } = await query<{ first: string | null; last: string | null }>(
    `with ${examinedSql('for key share')}
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
}

const NOTHING = { count: 0, examined: 0, more: false, last: null };

async function replayAtOnce(
  query: Query,
  parameters: readonly unknown[],
): Promise<ExaminedRow & { readonly count: number }> {
  const { rows } = await query<ExaminedRow & { readonly count: number }>(REPLAY_SQL, parameters);
  return rows[0] ?? NOTHING;
}

/** On a distributed PostgreSQL, which sends the parts of a statement with an insert to all nodes. */
async function replayInTwoSteps(
  query: Query,
  parameters: readonly unknown[],
): Promise<ExaminedRow & { readonly count: number }> {
  const { rows } = await query<ExaminedRow & { sequences: string[]; attempts: number[] }>(SELECT_SQL, parameters);
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
    }>(COUNT_SQL, parametersOf(key, range, start));
    const { sequences = [], transaction_ids: transactionIds = [], more = false, last = null } = rows[0] ?? {};
    const nextAfter = more ? Number(last) : null;
    return { outcome: 'counted', sequences, transactionIds, events: start.events, nextAfter };
  });
}

interface Start {
  readonly events: EventRange;
  /** Sequences of the first and the last event of the range. `last` is less than `first` when there are none. */
  readonly first: number;
  readonly last: number;
}

async function startOf(
  query: Query,
  { clientId, endpointId }: EndpointKey,
  { events, state, callbackDays }: ReplayRange,
  lock: 'for share' | '',
): Promise<Start | Refused | TooOld> {
  const { rows: endpoints } = await query<{ disabled: boolean }>(
    `select disabled_at is not null as disabled from tiba.callback_endpoints
      where client_id = $1 and endpoint_id = $2 ${lock}`,
    [clientId, endpointId],
  );
  if (endpoints[0] === undefined) return { outcome: 'not_found' };
  if (endpoints[0].disabled) return { outcome: 'disabled' };
  if (events.by === 'sequence') return { events, first: events.first, last: events.last };
  const from = state === 'missing' ? await laterOf(query, events.from, callbackDays) : events.from;
  if (from >= events.to) return { outcome: 'too_old', from };
  return { events: { ...events, from }, ...(await sequencesOf(query, clientId, { from, to: events.to })) };
}

/** That time, or the time from which deliveries are kept. Attempts begin after their event. */
async function laterOf(query: Query, from: string, callbackDays: number): Promise<string> {
  const { rows } = await query<{ later: Date }>(
    `select greatest($1::timestamptz, now() - nullif($2::int, 0) * interval '24 hours') as later`,
    [from, callbackDays],
  );
  return rows[0]?.later.toISOString() ?? from;
}

/** The events of a time have sequences that follow each other. */
async function sequencesOf(
  query: Query,
  clientId: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<{ first: number; last: number }> {
  const { rows } = await query<{ first: string; last: string }>(
    `select begin.sequence as first, rest.sequence - 1 as last
       from ${sequenceFrom('$1', '$2::timestamptz')} begin cross join ${sequenceFrom('$1', '$3::timestamptz')} rest`,
    [clientId, from, to],
  );
  const [row] = rows;
  return row === undefined ? { first: 1, last: 0 } : { first: Number(row.first), last: Number(row.last) };
}

/** Of the statements below. */
const parametersOf = (
  { clientId, endpointId }: EndpointKey,
  { state, after, limit }: ReplayRange,
  { first, last }: Start,
): readonly unknown[] => [clientId, endpointId, state, limit, Math.max(after ?? 0, first - 1), last];

/** SQL: the next events of the range as `examined`. */
const examinedSql = (lock: 'for key share' | ''): string => `
remaining as (
  -- One event more than the limit shows whether the range is done.
  select sequence, kind, subject_id from tiba.events
   where client_id = $1 and sequence > $5::bigint and sequence <= $6::bigint
   order by sequence limit $4::int + 1
     ${lock}
), examined as (
  select * from remaining order by sequence limit $4::int
)`;

/** SQL: the same, and as `selected` those that are replayed. */
const selectedSql = (lock: 'for key share' | ''): string => `${examinedSql(lock)}, selected as (
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

/** SQL: whether events are left, and the last one that was examined. */
const REST = `(select count(*) from remaining) > (select count(*) from examined) as more,
       (select max(sequence) from examined)::text as last`;

// A delivery needs its event: their retention waits for the lock.
const REPLAY_SQL = `
with ${selectedSql('for key share')}, replayed as (
  insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, attempts, attempts_before)
  select $1, $2, sequence, now(), attempts, attempts from selected order by sequence
  on conflict (client_id, endpoint_id, sequence) do update set ${RESTART_SCHEDULE}
  returning sequence
)
select (select count(*) from replayed)::int as count, (select count(*) from examined)::int as examined,
       ${REST}`;

/** What `REPLAY_SQL` inserts. */
const SELECT_SQL = `
with ${selectedSql('for key share')}
select (select coalesce(array_agg(sequence order by sequence), '{}') from selected) as sequences,
       (select coalesce(array_agg(attempts order by sequence), '{}') from selected) as attempts,
       (select count(*) from examined)::int as examined, ${REST}`;

const COUNT_SQL = `
with ${selectedSql('')}
select (select coalesce(array_agg(sequence::float8), '{}') from selected) as sequences,
       (select coalesce(array_agg(distinct subject_id::text), '{}')
          from selected where starts_with(kind::text, 'disbursement.')) as transaction_ids,
       ${REST}`;
