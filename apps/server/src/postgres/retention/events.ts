import { takeOutOfAllRanges } from '../callback-outbox-ranges.ts';
import type { Database } from '../database.ts';
import { earliestOverClients, ofClient } from '../distributed/one-client.ts';
import { type Batch, createRetentionScan, type RetentionScan, type ScannedBatch } from './scan.ts';

/**
 * Deletes events from before then, with the attempts of their callbacks, at most `limit` in a batch. They go in the
 * order of their sequences, so an event stays while an earlier one does. Events with a delivery that is still open
 * stay, unless its endpoint or client is disabled. First a client's `removed_up_to` grows, so that readers of what
 * is deleted learn of it: a process that dies in between leaves events that the next process deletes.
 */
export const scanEvents = (database: Database, limit: number, nowMs?: () => number): RetentionScan =>
  createRetentionScan<string>(database, limit, scan, nowMs);

/** Old events of a client: those after a sequence, up to another one. */
interface OldEvents extends Record<string, unknown> {
  readonly client_id: string;
  readonly after: string;
  readonly last: string;
  readonly count: number;
  /** Whether the client's `removed_up_to` is before the last. */
  readonly grows: boolean;
}

/** The position of a client is the sequence of the last event that was examined. */
async function scan(database: Database, { before, limit, clients }: Batch<string>): Promise<ScannedBatch<string>> {
  const examined = await database.query<OldEvents>(EXAMINED_SQL, [
    before,
    limit,
    clients.map(({ clientId }) => clientId),
    clients.map(({ position }) => position ?? '0'),
  ]);
  const removable: OldEvents[] = [];
  // One by one: each statement locks the sequence of its client, which the client's events wait for.
  for (const events of examined) if (!events.grows || (await grow(database, events))) removable.push(events);
  return {
    deleted: removable.length === 0 ? 0 : await deleteEvents(database, removable),
    isFull: examined.reduce((sum, { count }) => sum + count, 0) === limit,
    // The others are examined again, as what has changed meanwhile.
    positions: removable.map(({ client_id: clientId, last }) => ({ clientId, position: last })),
  };
}

/**
 * Whether the client's `removed_up_to` has grown to the last of these events. It has not when the archive began since
 * they were examined: it begins with the event after `removed_up_to`, so it does not have them.
 */
async function grow(database: Database, { client_id: clientId, last }: OldEvents): Promise<boolean> {
  const grown = await database.query(
    `update tiba.event_sequences set removed_up_to = $2
      where client_id = $1 and removed_up_to < $2 and (archived_up_to is null or archived_up_to >= $2)
     returning client_id`,
    [clientId, last],
  );
  return grown.length > 0;
}

function deleteEvents(database: Database, examined: readonly OldEvents[]): Promise<number> {
  return database.transaction(async (query) => {
    const { rows: locked } = await query<LockedEvents>(LOCK_SQL, [
      examined.map((each) => each.client_id),
      examined.map((each) => each.after),
      examined.map((each) => each.last),
    ]);
    await takeOutOfAllRanges(
      query,
      locked.map((each) => ({ clientId: each.client_id, first: Number(each.after) + 1, last: Number(each.last) })),
    );
    const { rows } = await query<{ deleted: number }>(DELETE_SQL, [
      locked.map((each) => each.client_id),
      locked.map((each) => each.after),
      locked.map((each) => each.last),
      locked.map((each) => each.places),
    ]);
    return rows[0]?.deleted ?? 0;
  });
}

interface LockedEvents extends Record<string, unknown>, Pick<OldEvents, 'client_id' | 'after' | 'last'> {
  /** An array of PostgreSQL, as text. */
  readonly places: string;
}

/** SQL: the next events of the client `s`, and one more; none while the client waits for the archive. */
const NEXT_EVENTS = `(
  select v.sequence, v.occurred_at from tiba.events v
   where v.client_id = s.client_id and v.sequence > s.removed_up_to ${ofClient('v')}
     and (s.archived_up_to is null or s.archived_up_to > s.removed_up_to)
   order by v.sequence limit $2::int + 1) next`;

// Each event's own time counts. One event with a wrong time must not remove the events around it.
// The newest event stays: a reader that has read all begins its next page with it.
// The archive comes first: of a client that waits for it, no event after `removed_up_to` is read.
const EXAMINED_SQL = `
select old.client_id, old.after, max(old.sequence) as last, count(*)::int as count,
       max(old.sequence) > old.removed_up_to as grows
  from (
    select s.client_id, p.after, s.removed_up_to, last.sequence
      from unnest($3::text[], $4::bigint[]) as p (client_id, after)
      join tiba.event_sequences s on s.client_id = p.client_id collate "C" ${ofClient('s')}
     cross join lateral (
       select coalesce(
         (select next.sequence from ${NEXT_EVENTS} where next.occurred_at >= $1 order by next.sequence limit 1),
         (select max(next.sequence) from ${NEXT_EVENTS})) as sequence) kept
     cross join lateral (
       select v.sequence from tiba.events v
        where v.client_id = s.client_id and v.sequence > p.after
          and v.sequence <= greatest(s.removed_up_to, least(kept.sequence - 1, s.archived_up_to)) ${ofClient('v')}
        order by v.sequence limit $2) last
     limit $2) old
 group by old.client_id, old.after, old.removed_up_to`;

// A replay locks the events that it needs.
const LOCK_SQL = `
select client_id, after, last, array_agg(place)::text as places
  from (
    select v.client_id, r.after, r.last, v.ctid as place
      from unnest($1::text[], $2::bigint[], $3::bigint[]) as r (client_id, after, last)
      join tiba.events v on v.client_id = r.client_id collate "C" and v.sequence > r.after and v.sequence <= r.last
           ${ofClient('v')}
       for update of v skip locked) locked
 group by client_id, after, last`;

// A statement of its own, which sees the replays that ended before the events were locked. What is locked stays in its
// place in the table, where it is found without an index. Deliveries of a disabled endpoint or client do not count as
// open: they may stay pending without an end.
const DELETE_SQL = `
with locked as materialized (
  select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) as k (client_id, after, last, places)
), old as materialized (
  select client_id, unnest(places::tid[]) as place from locked
), endpoints as materialized (
  select e.client_id, e.endpoint_id, e.disabled_at is null and c.disabled_at is null as is_enabled, k.after, k.last
    from locked k
    join tiba.callback_endpoints e on e.client_id = k.client_id collate "C" ${ofClient('e')}
    join tiba.clients c on c.client_id = e.client_id
), open as materialized (
  select o.client_id, o.sequence
    from endpoints e
    join tiba.callback_outbox o on o.client_id = e.client_id and o.endpoint_id = e.endpoint_id
         and o.sequence > e.after and o.sequence <= e.last ${ofClient('o')}
   where e.is_enabled and o.state = 'pending'
), deleted as (
  delete from tiba.events v using old
   where v.ctid = old.place and v.client_id = old.client_id collate "C" ${ofClient('v')}
     and (v.client_id, v.sequence) not in (select client_id, sequence from open)
  returning v.client_id, v.sequence
), callbacks as materialized (
  select d.client_id, e.endpoint_id, d.sequence from deleted d join endpoints e on e.client_id = d.client_id
), deleted_attempts as (
  delete from tiba.callback_attempts a using callbacks i
   where a.client_id = i.client_id and a.endpoint_id = i.endpoint_id and a.sequence = i.sequence ${ofClient('a')}
), deleted_deliveries as (
  delete from tiba.callback_outbox o using callbacks i
   where o.client_id = i.client_id and o.endpoint_id = i.endpoint_id and o.sequence = i.sequence ${ofClient('o')}
)
select count(*)::int as deleted from deleted`;

export const findOldestEvent = (database: Database): Promise<Date | null> =>
  earliestOverClients(database, async (own) => {
    const [row] = await own.query<{ oldest: Date | null }>(
      `select min(first.occurred_at) as oldest from tiba.event_sequences s
        cross join lateral (select v.occurred_at from tiba.events v
                             where v.client_id = s.client_id ${ofClient('v')}
                             order by v.sequence limit 1) first
        where true ${ofClient('s')}`,
    );
    return row?.oldest ?? null;
  });
