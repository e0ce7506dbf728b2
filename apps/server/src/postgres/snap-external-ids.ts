import type { Database } from './database.ts';

/**
 * Stores the X-EXTERNAL-ID of a client's request for the day in Jakarta, by PostgreSQL's clock. Returns false when the
 * client has used it on this day before, over any process.
 */
export async function claimExternalId(database: Database, clientId: string, externalId: string): Promise<boolean> {
  const rows = await database.query(
    `insert into tiba.snap_external_ids (client_id, used_on, external_id)
     values ($1, (now() at time zone 'Asia/Jakarta')::date, $2)
     on conflict do nothing returning client_id`,
    [clientId, externalId],
    'claim-snap-external-id',
  );
  return rows.length === 1;
}

/**
 * Deletes at most `limit` IDs of the days before that time's day in Jakarta. Returns how many. Reads across clients.
 */
export async function deleteExternalIds(database: Database, before: string, limit: number): Promise<number> {
  const rows = await database.query(
    `delete from tiba.snap_external_ids where (client_id, used_on, external_id) in
       (select client_id, used_on, external_id from tiba.snap_external_ids
         where used_on < ($1::timestamptz at time zone 'Asia/Jakarta')::date order by used_on limit $2)
     returning client_id`,
    [before, limit],
  );
  return rows.length;
}
