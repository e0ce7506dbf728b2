import type { Database } from './database.ts';

/**
 * Deletes at most `limit` final transactions that ended before then, with their status updates, and returns how many. A
 * transaction in PROCESS is never deleted, and one with events only after them: an event needs its transaction.
 */
export async function deleteTransactions(database: Database, before: Date, limit: number): Promise<number> {
  const [row] = await database.query<{ deleted: number }>(
    `with old as materialized (
       select t.client_id, t.transaction_id from tiba.clients c
        cross join lateral (
          select t.client_id, t.transaction_id from tiba.transactions_final t
           where t.client_id = c.client_id and t.processed_at < $1
             and (t.reversed_at is null or t.reversed_at < $1)
             and not exists (select from tiba.events v
                              where v.subject_id = t.transaction_id and v.client_id = t.client_id)
           order by t.processed_at, t.transaction_id limit $2
             for update skip locked) t
        limit $2
     ), deleted_updates as (
       delete from tiba.other_status_updates u using old
        where u.client_id = old.client_id and u.transaction_id = old.transaction_id
     ), deleted as (
       delete from tiba.transactions_final t using old
        where t.client_id = old.client_id and t.transaction_id = old.transaction_id
       returning 1
     )
     select count(*)::int as deleted from deleted`,
    [before, limit],
  );
  return row?.deleted ?? 0;
}

/** When the first final transaction ended. */
export async function findOldestTransaction(database: Database): Promise<Date | null> {
  const [row] = await database.query<{ oldest: Date | null }>(
    `select min(first.processed_at) as oldest from tiba.clients c
      cross join lateral (select t.processed_at from tiba.transactions_final t
                           where t.client_id = c.client_id
                           order by t.processed_at, t.transaction_id limit 1) first`,
  );
  return row?.oldest ?? null;
}
