import type { Database } from '../database.ts';
import { deleteOverClients, ofClient } from '../distributed/one-client.ts';
import { firstIdOfRow } from '../status-updates.ts';

/**
 * SQL: from before then there is no message that the archive still needs; null where there is no archive. A transaction
 * is in PROCESS for less than 31 days, but for rare ones.
 */
const ARCHIVED_UNTIL = `(
  select min(next.occurred_at) - interval '31 days' from tiba.event_sequences s
   cross join lateral (
     select v.occurred_at from tiba.events v
      where v.client_id = s.client_id and v.sequence > s.archived_up_to ${ofClient('v')}
      order by v.sequence limit 1) next
   where true ${ofClient('s')})`;

/** SQL: no stored time is more than 12 hours ahead of its arrival. Clocks differ by less than an hour. */
const CREATED_BEFORE = "$1::timestamptz + interval '13 hours'";

/**
 * SQL: the transactions in PROCESS that can have messages from before then. An index has those that were created before
 * then, which are few, however many are in PROCESS. Those that became overdue long ago are few as well, and some were
 * stored with a later time, before the feed replaced such times.
 */
const IN_PROCESS = `
  select client_id, transaction_id, inserted_by from tiba.transactions t
   where status = 'PROCESS' and t.created_at <= ${CREATED_BEFORE} ${ofClient('t')}
  union
  select client_id, transaction_id, inserted_by from tiba.transactions t
   where status = 'PROCESS' and overdue_since is not null and overdue_since < $1::timestamptz + interval '30 days'
         ${ofClient('t')}`;

/**
 * Deletes at most `limit` rows of messages that were received before then, the oldest first, and returns how many.
 * Those of a transaction that is still in PROCESS stay, the first and the later ones: they are what is known about it.
 * Reads across clients.
 */
export const deleteStatusMessages = (database: Database, before: Date, limit: number): Promise<number> =>
  deleteOverClients(database, limit, (own, left) => deleteMessages(own, before, left));

async function deleteMessages(database: Database, before: Date, limit: number): Promise<number> {
  const [row] = await database.query<{ deleted: number }>(
    `with transactions as materialized (${IN_PROCESS}), unfinished as materialized (
       select client_id, ${firstIdOfRow('inserted_by')} as first_status_update_id from transactions
       union
       select u.client_id, ${firstIdOfRow('u.status_update_id')}
         from transactions t
         join tiba.other_status_updates u
           on u.client_id = t.client_id and u.transaction_id = t.transaction_id ${ofClient('u')}
     ), old as materialized (
       select client_id, first_status_update_id from tiba.status_messages m
        where received_at < least($1::timestamptz, ${ARCHIVED_UNTIL})
          and not exists (select from unfinished u where u.client_id = m.client_id
                             and u.first_status_update_id = m.first_status_update_id)
              ${ofClient('m')}
        order by received_at limit $2
     ), deleted as (
       delete from tiba.status_messages m using old
        where m.client_id = old.client_id and m.first_status_update_id = old.first_status_update_id ${ofClient('m')}
       returning 1
     )
     select count(*)::int as deleted from deleted`,
    [before, limit],
  );
  return row?.deleted ?? 0;
}

export async function findOldestStatusMessage(database: Database): Promise<Date | null> {
  const [row] = await database.query<{ oldest: Date | null }>(
    'select min(received_at) as oldest from tiba.status_messages',
  );
  return row?.oldest ?? null;
}
