import type { Database } from '../database.ts';
import { earliestOverClients, ofClient } from '../distributed/one-client.ts';
import { sequenceFrom } from '../event-times.ts';
import { type Batch, createRetentionScan, type RetentionScan, type ScannedBatch } from './scan.ts';

interface Attempt {
  readonly sequence: string;
  readonly attempt: number;
}
/** Of a client, by endpoint. */
type Position = ReadonlyMap<string, Attempt>;

/**
 * Deletes attempts of callbacks about events from before then, at most `limit` in a batch, and as many deliveries of
 * such events that were given up. Attempts of a delivery that was replayed since, and those of open deliveries, stay.
 */
export const scanCallbacks = (database: Database, limit: number, nowMs?: () => number): RetentionScan =>
  createRetentionScan<Position>(database, limit, scan, nowMs);

async function scan(database: Database, batch: Batch<Position>): Promise<ScannedBatch<Position>> {
  const { before, limit, clients } = batch;
  const last = await findLastBefore(
    database,
    before,
    clients.map(({ clientId }) => clientId),
  );
  const attempts = await deleteAttempts(database, batch, last);
  const deliveries = await database.query(EXHAUSTED_SQL, [before, limit, last.clientIds, last.sequences]);
  return {
    ...attempts,
    deleted: attempts.deleted + deliveries.length,
    isFull: attempts.isFull || deliveries.length === limit,
  };
}

/** The last event from before then of each client that has one, or the last one that the archive has, if earlier. */
interface LastBefore {
  readonly clientIds: readonly string[];
  readonly sequences: readonly string[];
}

/** A statement of its own: Citus may refuse recursion in one that deletes. */
async function findLastBefore(database: Database, before: Date, clientIds: readonly string[]): Promise<LastBefore> {
  const rows = await database.query<{ client_id: string; sequence: string }>(LAST_BEFORE_SQL, [before, clientIds]);
  return { clientIds: rows.map((row) => row.client_id), sequences: rows.map(({ sequence }) => sequence) };
}

// Where there is no archive, least() leaves null out.
const LAST_BEFORE_SQL = `
select s.client_id, least(later.sequence - 1, s.archived_up_to) as sequence
  from tiba.event_sequences s
 cross join lateral ${sequenceFrom('s.client_id', '$1::timestamptz')} later
 where s.client_id = any($2) ${ofClient('s')}`;

async function deleteAttempts(
  database: Database,
  { before, limit, clients }: Batch<Position>,
  last: LastBefore,
): Promise<ScannedBatch<Position>> {
  const known = clients.flatMap(({ clientId, position }) =>
    [...(position ?? [])].map(([endpointId, { sequence, attempt }]) => ({ clientId, endpointId, sequence, attempt })),
  );
  const endpoints = await database.query<ScannedEndpoint>(ATTEMPTS_SQL, [
    before,
    limit,
    last.clientIds,
    last.sequences,
    known.map(({ clientId }) => clientId),
    known.map(({ endpointId }) => endpointId),
    known.map(({ sequence }) => sequence),
    known.map(({ attempt }) => attempt),
  ]);
  const scanned = Map.groupBy(endpoints, (each) => each.client_id);
  return {
    deleted: endpoints.reduce((sum, { deleted }) => sum + deleted, 0),
    isFull: endpoints.reduce((sum, { examined }) => sum + examined, 0) === limit,
    positions: clients.map(({ clientId, position }) => ({
      clientId,
      position: new Map([
        ...(position ?? []),
        ...(scanned.get(clientId) ?? []).map((each) => [each.endpoint_id, each] as const),
      ]),
    })),
  };
}

interface ScannedEndpoint extends Record<string, unknown>, Attempt {
  readonly client_id: string;
  readonly endpoint_id: string;
  readonly examined: number;
  readonly deleted: number;
}

/** SQL: the endpoints `s` of these clients, with the last event that counts as `last`. */
const ENDPOINTS = `
       unnest($3::text[], $4::bigint[]) as last (client_id, sequence)
  join tiba.callback_endpoints s on s.client_id = last.client_id collate "C" ${ofClient('s')}`;

const ATTEMPTS_SQL = `
with positions as materialized (
  select * from unnest($5::text[], $6::text[], $7::bigint[], $8::int[])
    as p (client_id, endpoint_id, sequence, attempt)
), examined as materialized (
  select a.* from ${ENDPOINTS}
    left join positions p on p.client_id collate "C" = s.client_id and p.endpoint_id collate "C" = s.endpoint_id
   cross join lateral (
     select a.client_id, a.endpoint_id, a.sequence, a.attempt,
            a.started_at < $1
            and not exists (select from tiba.callback_outbox o
                             where o.client_id = a.client_id and o.endpoint_id = a.endpoint_id
                               and o.sequence = a.sequence and (o.state = 'pending' or o.ended_at >= $1)
                                   ${ofClient('o')}) as goes
       from tiba.callback_attempts a
      where a.client_id = s.client_id and a.endpoint_id = s.endpoint_id and a.sequence <= last.sequence
        ${ofClient('a')}
        and (a.sequence, a.attempt) > (coalesce(p.sequence, 0), coalesce(p.attempt, 0))
      order by a.sequence, a.attempt limit $2) a
   limit $2
), deleted as (
  delete from tiba.callback_attempts a using examined e
   where e.goes and a.client_id = e.client_id and a.endpoint_id = e.endpoint_id and a.sequence = e.sequence
     and a.attempt = e.attempt ${ofClient('a')}
  returning a.client_id, a.endpoint_id
)
select e.client_id, e.endpoint_id, count(*)::int as examined,
       (select count(*) from deleted d
         where d.client_id = e.client_id and d.endpoint_id = e.endpoint_id)::int as deleted,
       max(e.sequence)::text as sequence,
       (array_agg(e.attempt order by e.sequence desc, e.attempt desc))[1] as attempt
  from examined e
 group by e.client_id, e.endpoint_id`;

const EXHAUSTED_SQL = `
with exhausted as materialized (
  select o.* from ${ENDPOINTS}
   cross join lateral (
     select o.client_id, o.endpoint_id, o.sequence from tiba.callback_outbox o
      where o.client_id = s.client_id and o.endpoint_id = s.endpoint_id and o.sequence <= last.sequence
        and o.state = 'exhausted' and o.ended_at < $1 ${ofClient('o')}
      order by o.sequence limit $2
        for update skip locked) o
   limit $2
)
delete from tiba.callback_outbox o using exhausted i
 where o.client_id = i.client_id and o.endpoint_id = i.endpoint_id and o.sequence = i.sequence
   and o.state = 'exhausted' ${ofClient('o')}
returning o.sequence`;

/** When the oldest attempt was made, nearly: of each endpoint the one for its first event counts. */
export const findOldestAttempt = (database: Database): Promise<Date | null> =>
  earliestOverClients(database, async (own) => {
    const [row] = await own.query<{ oldest: Date | null }>(
      `select min(first.started_at) as oldest from tiba.callback_endpoints e
        cross join lateral (
          select a.started_at from tiba.callback_attempts a
           where a.client_id = e.client_id and a.endpoint_id = e.endpoint_id ${ofClient('a')}
           order by a.sequence, a.attempt limit 1) first
        where true ${ofClient('e')}`,
    );
    return row?.oldest ?? null;
  });
