import type { Database } from '../database.ts';
import { earliestOverClients, ofClient } from '../distributed/one-client.ts';
import { type Batch, createRetentionScan, type RetentionScan, type ScannedBatch } from './scan.ts';

interface Position {
  /** As PostgreSQL writes it, to the microsecond. */
  readonly processedAt: string;
  readonly transactionId: string;
}

/**
 * Deletes final transactions that ended before then, with their status updates, at most `limit` in a batch. A
 * transaction in PROCESS is never deleted, and one with events only after them: an event needs its transaction.
 */
export const scanTransactions = (database: Database, limit: number, nowMs?: () => number): RetentionScan =>
  createRetentionScan<Position>(database, limit, scan, nowMs);

async function scan(database: Database, batch: Batch<Position>): Promise<ScannedBatch<Position>> {
  const { before, limit, clients } = batch;
  const scanned = await database.query<ScannedClient>(SCAN_SQL, [
    before,
    limit,
    clients.map(({ clientId }) => clientId),
    clients.map(({ position }) => position?.processedAt ?? '-infinity'),
    clients.map(({ position }) => position?.transactionId ?? ''),
  ]);
  return {
    deleted: scanned[0]?.deleted ?? 0,
    isFull: scanned[0]?.examined === limit,
    positions: scanned.map((each) => ({
      clientId: each.client_id,
      position: { processedAt: each.processed_at, transactionId: each.transaction_id },
    })),
  };
}

/** A client with the last of its transactions that was examined. */
interface ScannedClient extends Record<string, unknown> {
  readonly client_id: string;
  readonly processed_at: string;
  readonly transaction_id: string;
  /** Of all clients together. */
  readonly examined: number;
  readonly deleted: number;
}

// What another process holds is not waited for; it is examined again as what must stay. A reversal may commit between
// the snapshot and the lock: the lock reads the row again, and its version and times say whether it is another one now.
// A row is found by its place in the table: the indexes of a key cost more than the rest. One that has moved meanwhile
// is not deleted.
const SCAN_SQL = `
with examined as materialized (
  select t.* from unnest($3::text[], $4::timestamptz[], $5::text[]) as p (client_id, processed_at, transaction_id)
   cross join lateral (
     select t.ctid as place, t.client_id, t.transaction_id, t.processed_at, t.version,
            (t.reversed_at is null or t.reversed_at < $1)
            and not exists (select from tiba.events v
                             where v.subject_id = t.transaction_id and v.client_id = t.client_id collate "POSIX"
                                   ${ofClient('v')}) as goes
       from tiba.transactions_final t
      where t.client_id = p.client_id collate "C" and t.processed_at < $1 ${ofClient('t')}
        and (t.processed_at, t.transaction_id collate "POSIX") > (p.processed_at, p.transaction_id)
      order by t.processed_at, t.transaction_id collate "POSIX" limit $2) t
   limit $2
), old as materialized (
  select t.place, t.client_id
    from examined e
   cross join lateral (
     select o.ctid as place, o.client_id from tiba.transactions_final o
      where o.ctid = e.place and o.client_id = e.client_id and o.version = e.version
        and o.processed_at < $1 and (o.reversed_at is null or o.reversed_at < $1) ${ofClient('o')}
        for update skip locked) t
   where e.goes
), deleted as (
  delete from tiba.transactions_final t using old
   where t.ctid = old.place and t.client_id = old.client_id ${ofClient('t')}
  returning t.client_id, t.transaction_id
), deleted_updates as (
  delete from tiba.other_status_updates u using deleted d
   where u.client_id = d.client_id and u.transaction_id = d.transaction_id ${ofClient('u')}
)
select distinct on (e.client_id) e.client_id, e.processed_at::text, e.transaction_id,
       (select count(*)::int from examined) as examined, (select count(*)::int from deleted) as deleted
  from examined e
 order by e.client_id, e.processed_at desc, e.transaction_id desc`;

/** When the first final transaction ended. */
export const findOldestTransaction = (database: Database): Promise<Date | null> =>
  earliestOverClients(database, async (own) => {
    const [row] = await own.query<{ oldest: Date | null }>(
      `select min(first.processed_at) as oldest from tiba.clients c
        cross join lateral (select t.processed_at from tiba.transactions_final t
                             where t.client_id = c.client_id and t.processed_at is not null ${ofClient('t')}
                             order by t.processed_at, t.transaction_id collate "POSIX" limit 1) first`,
    );
    return row?.oldest ?? null;
  });
