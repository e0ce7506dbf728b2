import {
  DELIVERY_COLUMNS,
  DELIVERY_STATES,
  type Delivery,
  type DeliveryKey,
  type DeliveryRow,
  toDelivery,
} from './callback-history.ts';
import type { Database, Query } from './database.ts';
import type { EndpointKey } from './delivery-jobs.ts';
import { addDeliveryJob } from './delivery-jobs.ts';

/**
 * Restarts the retry schedule of a delivery with an attempt at once. `disabled`: its endpoint is, so nothing is
 * replayed.
 */
export function replayDelivery(database: Database, key: DeliveryKey): Promise<Delivery | 'not_found' | 'disabled'> {
  const { clientId, endpointId, sequence } = key;
  return database.transaction(async (query) => {
    const { rows } = await query<{ disabled: boolean }>(
      `select e.disabled_at is not null as disabled
         from tiba.callback_deliveries d join tiba.callback_endpoints e using (client_id, endpoint_id)
        where d.client_id = $1 and d.endpoint_id = $2 and d.sequence = $3`,
      [clientId, endpointId, sequence],
    );
    if (rows[0] === undefined) return 'not_found';
    if (rows[0].disabled) return 'disabled';
    const { rowCount } = await query(
      `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, attempts, attempts_before)
       select v.client_id, $2, v.sequence, now(), a.attempts, a.attempts
         from tiba.events v ${JOIN_ATTEMPTS}
        where v.client_id = $1 and v.sequence = $3
          -- A delivery needs its event: their retention waits for this.
          for key share of v
       on conflict (client_id, endpoint_id, sequence) do update set ${RESTART_SCHEDULE}`,
      [clientId, endpointId, sequence],
    );
    if (rowCount === 0) return 'not_found';
    const { rows: replayed } = await query<DeliveryRow>(
      `select ${DELIVERY_COLUMNS}
         from tiba.callback_deliveries d join tiba.events v on v.client_id = d.client_id and v.sequence = d.sequence
        where d.client_id = $1 and d.endpoint_id = $2 and d.sequence = $3`,
      [clientId, endpointId, sequence],
    );
    await addDeliveryJob(query, key);
    return replayed.map(toDelivery)[0] ?? 'not_found';
  });
}

const RESTART_SCHEDULE = `state = 'pending', attempts_before = callback_outbox.attempts, next_attempt_at = now(),
       claimed_until = null, ended_at = null`;

/** SQL: how many attempts `a` the endpoint $2 of the client $1 has had for the event `v`, and whether one succeeded. */
const JOIN_ATTEMPTS = `
 cross join lateral (
   select coalesce(max(attempt), 0) as attempts, bool_or(http_status between 200 and 299) as delivered
     from tiba.callback_attempts
    where client_id = $1 and endpoint_id = $2 and sequence = v.sequence) a`;

/** `missing`: the endpoint wants this kind of event, but was not registered or was disabled when the event happened. */
export const REPLAYED_STATES = [...DELIVERY_STATES, 'missing'] as const;
export type ReplayedState = (typeof REPLAYED_STATES)[number];

export interface ReplayRange {
  /** ISO 8601 UTC, inclusive. */
  readonly from: string;
  /** ISO 8601 UTC, exclusive. */
  readonly to: string;
  /** null for all deliveries, missing ones included. */
  readonly state: ReplayedState | null;
  /**
   * Days for which the attempts of deliveries are kept; 0: no limit. Of older events nothing says which were delivered,
   * so none of them is `missing`.
   */
  readonly callbackDays: number;
  /** The sequence of the last event of the previous call; null for the first call. */
  readonly after: number | null;
  /** Events to examine at most. */
  readonly limit: number;
}

export type ReplayOutcome =
  | {
      readonly outcome: 'replayed';
      readonly count: number;
      /** The `from` of the range, or a later time when what is missing is known from then on only. */
      readonly from: string;
      /** The sequence of the last examined event; null when the range is done. */
      readonly nextAfter: number | null;
    }
  | {
      /** Of the whole range nothing says which events are missing. */
      readonly outcome: 'too_old';
      /** The time from which it is known. */
      readonly from: string;
    }
  | { readonly outcome: 'not_found' | 'disabled' | 'unknown_after' };

/**
 * Makes the deliveries of a time range pending again, or creates missing ones, in the order of the events. The limit
 * counts examined events instead of replayed ones, so that the cost is bounded even when few of them match.
 */
export function replayRange(database: Database, key: EndpointKey, range: ReplayRange): Promise<ReplayOutcome> {
  const { clientId, endpointId } = key;
  return database.transaction(async (query) => {
    const { rows: endpoints } = await query<{ disabled: boolean }>(
      `select disabled_at is not null as disabled from tiba.callback_endpoints
        where client_id = $1 and endpoint_id = $2 for share`,
      [clientId, endpointId],
    );
    if (endpoints[0] === undefined) return { outcome: 'not_found' };
    if (endpoints[0].disabled) return { outcome: 'disabled' };
    const from = range.state === 'missing' ? await laterOf(query, range) : range.from;
    if (from >= range.to) return { outcome: 'too_old', from };
    const start = await startOf(query, clientId, { from, after: range.after });
    if (start === null) return { outcome: 'unknown_after' };
    const { rows } = await query<{ count: number; more: boolean; last: string | null }>(REPLAY_SQL, [
      clientId,
      endpointId,
      start.from,
      start.after,
      range.to,
      range.state,
      range.limit,
    ]);
    const { count = 0, more = false, last = null } = rows[0] ?? {};
    if (count > 0) await addDeliveryJob(query, key);
    return { outcome: 'replayed', count, from, nextAfter: more ? Number(last) : null };
  });
}

/** The `from` of the range, or the time from which deliveries are kept. Attempts begin after their event. */
async function laterOf(query: Query, { from, callbackDays }: ReplayRange): Promise<string> {
  const { rows } = await query<{ later: Date }>(
    `select greatest($1::timestamptz, now() - nullif($2::int, 0) * interval '24 hours') as later`,
    [from, callbackDays],
  );
  return rows[0]?.later.toISOString() ?? from;
}

/** Many events have the same time, so a position among them is a time and a sequence. */
async function startOf(
  query: Query,
  clientId: string,
  { from, after }: Pick<ReplayRange, 'from' | 'after'>,
): Promise<{ from: string; after: number } | null> {
  if (after === null) return { from, after: 0 };
  const { rows } = await query<{ occurred_at: Date }>(
    'select occurred_at from tiba.events where client_id = $1 and sequence = $2',
    [clientId, after],
  );
  const occurredAt = rows[0]?.occurred_at.toISOString();
  if (occurredAt === undefined) return null;
  return occurredAt < from ? { from, after: 0 } : { from: occurredAt, after };
}

const REPLAY_SQL = `
with remaining as (
  -- One event more than the limit shows whether the range is done.
  select sequence, occurred_at, kind from tiba.events
   where client_id = $1 and (occurred_at, sequence) > ($3::timestamptz, $4::bigint) and occurred_at < $5::timestamptz
   order by occurred_at, sequence limit $7::int + 1
   -- A delivery needs its event: their retention waits for this.
     for key share
), examined as (
  select * from remaining order by occurred_at, sequence limit $7::int
), selected as (
  select v.sequence, a.attempts
    from examined v
    join tiba.callback_endpoints e on e.client_id = $1 and e.endpoint_id = $2
    left join tiba.callback_outbox d
      on d.client_id = $1 and d.endpoint_id = $2 and d.sequence = v.sequence
   ${JOIN_ATTEMPTS}
   where (d.state is not null or a.delivered or v.kind::text = any (e.kinds))
     and ($6::text is null or coalesce(d.state, case when a.delivered then 'delivered' end, 'missing') = $6)
), replayed as (
  insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, attempts, attempts_before)
  select $1, $2, sequence, now(), attempts, attempts from selected order by sequence
  on conflict (client_id, endpoint_id, sequence) do update set ${RESTART_SCHEDULE}
  returning sequence
)
select (select count(*) from replayed)::int as count,
       (select count(*) from remaining) > (select count(*) from examined) as more,
       (select sequence from examined order by occurred_at desc, sequence desc limit 1)::text as last`;
