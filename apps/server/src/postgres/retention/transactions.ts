import type { Database } from '../database.ts';
import { earliestOverClients, ofClient } from '../distributed/one-client.ts';
import { createRetentionScan, type RetentionScan, type ScannedBatch, scanOverClients } from './scan.ts';

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
  createRetentionScan<Position>(
    (before, positions) =>
      scanOverClients(database, limit, (own, left) => deleteTransactions(own, { before, limit: left, positions })),
    nowMs,
  );

interface Batch {
  readonly before: Date;
  readonly limit: number;
  /** By client. */
  readonly positions: Map<string, Position>;
}

async function deleteTransactions(database: Database, { before, limit, positions }: Batch): Promise<ScannedBatch> {
  const known = [...positions];
  const clients = await database.query<ScannedClient>(SCAN_SQL, [
    before,
    limit,
    known.map(([clientId]) => clientId),
    known.map(([, { processedAt }]) => processedAt),
    known.map(([, { transactionId }]) => transactionId),
  ]);
  let deleted = 0;
  let examined = 0;
  for (const client of clients) {
    deleted += client.deleted;
    examined += client.examined;
    if (client.deleted === client.examined && !positions.has(client.client_id)) continue;
    positions.set(client.client_id, { processedAt: client.processed_at, transactionId: client.transaction_id });
  }
  return { deleted, hasMore: examined === limit };
}

interface ScannedClient extends Record<string, unknown> {
  readonly client_id: string;
  readonly examined: number;
  readonly deleted: number;
  readonly processed_at: string;
  readonly transaction_id: string;
}

// What another process holds is not waited for; it is examined again as what must stay. A reversal may commit between
// the snapshot and the lock: the lock reads the row again, and its version and times say whether it is another one now.
const SCAN_SQL = `
with positions as materialized (
  select * from unnest($3::text[], $4::timestamptz[], $5::text[]) as p (client_id, processed_at, transaction_id)
), examined as materialized (
  select t.* from tiba.clients c
    left join positions p on p.client_id collate "C" = c.client_id
   cross join lateral (
     select t.client_id, t.transaction_id, t.processed_at, t.version,
            (t.reversed_at is null or t.reversed_at < $1)
            and not exists (select from tiba.events v
                             where v.subject_id = t.transaction_id and v.client_id = t.client_id
                                   ${ofClient('v')}) as goes
       from tiba.transactions_final t
      where t.client_id = c.client_id and t.processed_at < $1 ${ofClient('t')}
        and (t.processed_at, t.transaction_id)
              > (coalesce(p.processed_at, '-infinity'), coalesce(p.transaction_id, '') collate "C")
      order by t.processed_at, t.transaction_id limit $2) t
   limit $2
), old as materialized (
  select t.client_id, t.transaction_id
    from examined e
   cross join lateral (
     select o.client_id, o.transaction_id from tiba.transactions_final o
      where o.transaction_id = e.transaction_id and o.client_id = e.client_id and o.version = e.version
        and o.processed_at < $1 and (o.reversed_at is null or o.reversed_at < $1) ${ofClient('o')}
        for update skip locked) t
   where e.goes
), deleted_updates as (
  delete from tiba.other_status_updates u using old
   where u.client_id = old.client_id and u.transaction_id = old.transaction_id ${ofClient('u')}
), deleted as (
  delete from tiba.transactions_final t using old
   where t.client_id = old.client_id and t.transaction_id = old.transaction_id ${ofClient('t')}
  returning t.client_id
)
select e.client_id, count(*)::int as examined,
       (select count(*) from deleted d where d.client_id = e.client_id)::int as deleted,
       max(e.processed_at)::text as processed_at,
       (array_agg(e.transaction_id order by e.processed_at desc, e.transaction_id desc))[1] as transaction_id
  from examined e
 group by e.client_id`;

/** When the first final transaction ended. */
export const findOldestTransaction = (database: Database): Promise<Date | null> =>
  earliestOverClients(database, async (own) => {
    const [row] = await own.query<{ oldest: Date | null }>(
      `select min(first.processed_at) as oldest from tiba.clients c
        cross join lateral (select t.processed_at from tiba.transactions_final t
                             where t.client_id = c.client_id and t.processed_at is not null ${ofClient('t')}
                             order by t.processed_at, t.transaction_id limit 1) first`,
    );
    return row?.oldest ?? null;
  });
