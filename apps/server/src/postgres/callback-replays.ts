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

/** Begins a delivery's schedule anew, with an attempt at once. `disabled`: its endpoint is, so nothing would be sent. */
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
    const { rows: replayed } = await query<DeliveryRow>(
      `with d as (
         update tiba.callback_deliveries set ${AGAIN} where client_id = $1 and endpoint_id = $2 and sequence = $3
         returning *
       )
       select ${DELIVERY_COLUMNS} from d join tiba.events v on v.client_id = d.client_id and v.sequence = d.sequence`,
      [clientId, endpointId, sequence],
    );
    await addDeliveryJob(query, key);
    return replayed.map(toDelivery)[0] ?? 'not_found';
  });
}

const AGAIN =
  "state = 'pending', attempts_before = callback_deliveries.attempts, next_attempt_at = now(), ended_at = null";

/** `missing`: the endpoint wants such events, but was not there, or disabled, when this one happened. */
export const REPLAYED_STATES = [...DELIVERY_STATES, 'missing'] as const;
export type ReplayedState = (typeof REPLAYED_STATES)[number];

export interface ReplayRange {
  /** ISO 8601 UTC: from this moment on, and before that one. */
  readonly from: string;
  readonly to: string;
  /** null for all that there are, and those that are missing. */
  readonly state: ReplayedState | null;
  /** The sequence of the last event of the call before; null to begin. */
  readonly after: number | null;
  /** How many events are looked at, at the most. */
  readonly limit: number;
}

export type Replayed =
  | {
      readonly outcome: 'replayed';
      readonly count: number;
      /** The sequence of the last event that was looked at, when there are more after it. */
      readonly goOnAfter: number | null;
    }
  | { readonly outcome: 'not_found' | 'disabled' | 'unknown_after' };

/**
 * Delivers again, or for the first time, what happened in a range of time, in the order in which it happened. It looks at
 * so many events at once, not at so many that are replayed: then it costs as much, however few of them those are.
 */
export function replayRange(database: Database, key: EndpointKey, range: ReplayRange): Promise<Replayed> {
  const { clientId, endpointId } = key;
  return database.transaction(async (query) => {
    const { rows: known } = await query<{ disabled: boolean }>(
      `select disabled_at is not null as disabled from tiba.callback_endpoints
        where client_id = $1 and endpoint_id = $2 for share`,
      [clientId, endpointId],
    );
    if (known[0] === undefined) return { outcome: 'not_found' };
    if (known[0].disabled) return { outcome: 'disabled' };
    const begin = await beginningOf(query, clientId, range);
    if (begin === null) return { outcome: 'unknown_after' };
    const { rows } = await query<{ count: number; more: boolean; last: string | null }>(REPLAY_SQL, [
      clientId,
      endpointId,
      begin.from,
      begin.after,
      range.to,
      range.state,
      range.limit,
    ]);
    const { count = 0, more = false, last = null } = rows[0] ?? {};
    if (count > 0) await addDeliveryJob(query, key);
    return { outcome: 'replayed', count, goOnAfter: more ? Number(last) : null };
  });
}

/** Many events have the same moment, so a place among them is a moment and a sequence. */
async function beginningOf(
  query: Query,
  clientId: string,
  { from, after }: ReplayRange,
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
with ahead as (
  select sequence, occurred_at, kind from tiba.events
   where client_id = $1 and (occurred_at, sequence) > ($3::timestamptz, $4::bigint) and occurred_at < $5::timestamptz
   order by occurred_at, sequence limit $7::int + 1
), seen as (
  select * from ahead order by occurred_at, sequence limit $7::int
), chosen as (
  select s.sequence
    from seen s
    join tiba.callback_endpoints e on e.client_id = $1 and e.endpoint_id = $2
    left join tiba.callback_deliveries d
      on d.client_id = $1 and d.endpoint_id = $2 and d.sequence = s.sequence
   where (d.state is not null or s.kind = any (e.kinds))
     and ($6::text is null or coalesce(d.state, 'missing') = $6)
), replayed as (
  insert into tiba.callback_deliveries (client_id, endpoint_id, sequence, next_attempt_at)
  select $1, $2, sequence, now() from chosen order by sequence
  on conflict (client_id, endpoint_id, sequence) do update set ${AGAIN}
  returning sequence
)
select (select count(*) from replayed)::int as count, (select count(*) from ahead) > (select count(*) from seen) as more,
       (select sequence from seen order by occurred_at desc, sequence desc limit 1)::text as last`;
