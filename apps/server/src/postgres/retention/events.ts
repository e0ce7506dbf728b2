import type { Database } from '../database.ts';
import { earliestOverClients, ofClient } from '../distributed/one-client.ts';
import { createRetentionScan, type RetentionScan, type ScannedBatch, scanOverClients } from './scan.ts';

/**
 * Deletes events from before then, with the attempts of their callbacks, at most `limit` in a batch. They go in the
 * order of their sequences, so an event stays while an earlier one does. Events with a delivery that is still open
 * stay, unless its endpoint or client is disabled. First a client's `removed_up_to` grows, so that readers of what
 * is deleted learn of it: a process that dies in between leaves events that the next batch deletes.
 */
export const scanEvents = (database: Database, limit: number, nowMs?: () => number): RetentionScan =>
  createRetentionScan<string>(
    (before, positions) => scanOverClients(database, limit, (own, left) => scan(own, before, positions, left)),
    nowMs,
  );

async function scan(
  database: Database,
  before: Date,
  positions: Map<string, string>,
  limit: number,
): Promise<ScannedBatch> {
  const left = await deleteRemoved(database, limit, positions);
  if (left.hasMore || left.deleted > 0) return { ...left, hasMore: true };
  if (!(await growRemoved(database, before, limit))) return left;
  const { deleted } = await deleteRemoved(database, limit, positions);
  return { deleted, hasMore: true };
}

/**
 * Of how many clients the statement that follows examines old events: of a thousand clients it would examine a million
 * events at once, which takes longer than a statement may. Clients that wait for the archive are left out
 * first: they would not count toward these, and each would cost as much.
 */
const GROWN_CLIENTS_MAX = 20;

/** Moves `removed_up_to` of some clients by at most `limit` events each. Returns whether one has moved. */
async function growRemoved(database: Database, before: Date, limit: number): Promise<boolean> {
  const values = [before, limit, GROWN_CLIENTS_MAX];
  const clients = await database.query<{ client_id: string; sequence: string }>(GROWN_SQL, values);
  // One by one: each statement locks the sequence of its client, which the client's events wait for.
  for (const { client_id: clientId, sequence } of clients) {
    await database.query(
      'update tiba.event_sequences set removed_up_to = $2 where client_id = $1 and removed_up_to < $2',
      [clientId, sequence],
    );
  }
  return clients.length > 0;
}

/** SQL: the next events of the client `s`, and one more. */
const NEXT_EVENTS = `(
  select v.sequence, v.occurred_at from tiba.events v
   where v.client_id = s.client_id and v.sequence > s.removed_up_to ${ofClient('v')}
   order by v.sequence limit $2::int + 1) next`;

// Each event's own time counts. One event with a wrong time must not remove the events around it.
// The newest event stays: a reader that has read all begins its next page with it.
// The archive comes first: a client that waits for it is left out before its events are read.
const GROWN_SQL = `
select s.client_id, last.sequence
  from tiba.event_sequences s
 cross join lateral (
   select coalesce(
     (select next.sequence from ${NEXT_EVENTS} where next.occurred_at >= $1 order by next.sequence limit 1),
     (select max(next.sequence) from ${NEXT_EVENTS})) as sequence) kept
 cross join lateral (
   select v.sequence from tiba.events v
    where v.client_id = s.client_id and v.sequence > s.removed_up_to
      and v.sequence <= least(kept.sequence - 1, s.archived_up_to) ${ofClient('v')}
    order by v.sequence desc limit 1) last
 where (s.archived_up_to is null or s.archived_up_to > s.removed_up_to) ${ofClient('s')}
 limit $3`;

/** `positions`: of each client, the last event that was examined and stays. */
function deleteRemoved(database: Database, limit: number, positions: Map<string, string>): Promise<ScannedBatch> {
  return database.transaction(async (query) => {
    const { rows: examined } = await query<{ client_id: string; sequence: string; is_open: boolean }>(EXAMINED_SQL, [
      limit,
      [...positions.keys()],
      [...positions.values()],
    ]);
    for (const { client_id: clientId, sequence, is_open: isOpen } of examined) {
      if (isOpen || positions.has(clientId)) positions.set(clientId, sequence);
    }
    const old = examined.filter(({ is_open: isOpen }) => !isOpen);
    const hasMore = examined.length === limit;
    if (old.length === 0) return { deleted: 0, hasMore };
    const keys = [old.map((each) => each.client_id), old.map((each) => each.sequence)];
    const { rows: locked } = await query<{ client_id: string; sequence: string }>(LOCK_SQL, keys);
    const { rows } = await query<{ deleted: number }>(DELETE_SQL, [
      locked.map((each) => each.client_id),
      locked.map((each) => each.sequence),
    ]);
    return { deleted: rows[0]?.deleted ?? 0, hasMore };
  });
}

/**
 * SQL: the event `v` has a delivery that is still open. Deliveries of a disabled endpoint or client do not count: they
 * may stay pending without an end.
 */
const HAS_OPEN_DELIVERY = `exists (
  select from tiba.callback_endpoints e
    join tiba.callback_outbox o
      on o.client_id = e.client_id and o.endpoint_id = e.endpoint_id and o.sequence = v.sequence ${ofClient('o')}
    join tiba.clients c on c.client_id = e.client_id
   where e.client_id = v.client_id and o.state = 'pending' and e.disabled_at is null and c.disabled_at is null
         ${ofClient('e')})`;

// In the order of the sequence for each client, so that the last one that stays is the position.
const EXAMINED_SQL = `
select v.client_id, v.sequence, v.is_open
  from tiba.event_sequences s
  left join unnest($2::text[], $3::bigint[]) as p (client_id, sequence) on p.client_id collate "C" = s.client_id
 cross join lateral (
   select v.client_id, v.sequence, ${HAS_OPEN_DELIVERY} as is_open from tiba.events v
    where v.client_id = s.client_id and v.sequence > coalesce(p.sequence, 0) and v.sequence <= s.removed_up_to
          ${ofClient('v')}
    order by v.sequence limit $1) v
 where s.removed_up_to > 0 ${ofClient('s')}
 limit $1`;

// A replay locks the events that it needs.
const LOCK_SQL = `
select v.client_id, v.sequence
  from unnest($1::text[], $2::bigint[]) as k (client_id, sequence)
  join tiba.events v on v.client_id = k.client_id collate "C" and v.sequence = k.sequence ${ofClient('v')}
   for update of v skip locked`;

// A statement of its own, which sees the replays that ended before the events were locked.
const DELETE_SQL = `
with old as materialized (
  select v.client_id, v.sequence
    from unnest($1::text[], $2::bigint[]) as k (client_id, sequence)
    join tiba.events v on v.client_id = k.client_id collate "C" and v.sequence = k.sequence ${ofClient('v')}
   where not ${HAS_OPEN_DELIVERY}
), endpoints as materialized (
  select old.client_id, e.endpoint_id, old.sequence
    from old join tiba.callback_endpoints e on e.client_id = old.client_id ${ofClient('e')}
), deleted_attempts as (
  delete from tiba.callback_attempts a using endpoints i
   where a.client_id = i.client_id and a.endpoint_id = i.endpoint_id and a.sequence = i.sequence ${ofClient('a')}
), deleted_deliveries as (
  delete from tiba.callback_outbox o using endpoints i
   where o.client_id = i.client_id and o.endpoint_id = i.endpoint_id and o.sequence = i.sequence ${ofClient('o')}
), deleted as (
  delete from tiba.events v using old
   where v.client_id = old.client_id and v.sequence = old.sequence ${ofClient('v')}
  returning 1
)
select count(*)::int as deleted from deleted`;

export const findOldestEvent = (database: Database): Promise<Date | null> =>
  earliestOverClients(database, async (own) => {
    const [row] = await own.query<{ oldest: Date | null }>(
      `select min(first.occurred_at) as oldest from tiba.event_sequences s
        cross join lateral (select v.occurred_at from tiba.events v
                             where v.client_id = s.client_id ${ofClient('v')}
                             order by v.occurred_at, v.sequence limit 1) first
        where true ${ofClient('s')}`,
    );
    return row?.oldest ?? null;
  });
