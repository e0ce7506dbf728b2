import type { RetentionScan } from '../../apps/server/src/postgres/retention/scan.ts';
import type { openSql } from '../callbacks/endpoints-harness.ts';
import { daysEarlier } from '../support/database.ts';
import type { TestClient } from '../support/service.ts';

/** What the tests of the retention share. */

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Settings: the service itself would delete beside the test what the test makes removable. */
export const WITHOUT_RETENTION = { messageDays: 0, callbackDays: 0, eventDays: 0, transactionDays: 0 };

type Sql = Awaited<ReturnType<typeof openSql>>;

export const daysAgo = (days: number): Date => new Date(Date.now() - days * DAY_MS);

/** Deletes until nothing is left to examine; returns the sizes of batches that deleted something. */
export async function scanBatches(scan: RetentionScan): Promise<number[]> {
  const sizes: number[] = [];
  do {
    const size = await scan.deleteBatch(daysAgo(400));
    if (size > 0) sizes.push(size);
  } while (scan.hasMore());
  return sizes;
}

/** As if everything of the client had happened 500 days ago. */
export async function age(sql: Sql, { clientId }: TestClient): Promise<void> {
  for (const change of [
    `events set occurred_at = ${daysEarlier('occurred_at', 500)}`,
    `callback_attempts set started_at = ${daysEarlier('started_at', 500)}`,
    `callback_outbox set ended_at = ${daysEarlier('ended_at', 500)}`,
    `transactions set processed_at = ${daysEarlier('processed_at', 500)},
                      overdue_since = ${daysEarlier('overdue_since', 500)}`,
    `status_messages set received_at = ${daysEarlier('received_at', 500)}`,
  ]) {
    await sql(`update tiba.${change} where client_id = $1`, [clientId]);
  }
}

export const sequences = async (sql: Sql, { clientId }: TestClient): Promise<unknown[]> =>
  (await sql('select sequence::int from tiba.events where client_id = $1 order by 1', [clientId])).map(
    ({ sequence }) => sequence,
  );

/** Adds clients. Of the events of each, all but the newest are old. */
export async function addClientsWithEvents(sql: Sql, prefix: string, clients: number, events: number): Promise<void> {
  await sql(
    `insert into tiba.clients (client_id, name, secret_hash, scopes)
     select $1 || n, 'x', '\\x00', '{}' from generate_series(1, $2::int) as n`,
    [prefix, clients],
  );
  await sql(
    `insert into tiba.event_sequences (client_id, last_sequence)
     select client_id, $2 from tiba.clients where starts_with(client_id, $1)`,
    [prefix, events],
  );
  await sql(
    `insert into tiba.events (client_id, sequence, occurred_at, version, subject_id, kind)
     select client_id, sequence, now() - case when sequence < $2 then interval '500 days' else interval '0' end, 1,
            'TB' || sequence, 'disbursement.succeeded'
       from tiba.clients cross join generate_series(1, $2::int) as sequence where starts_with(client_id, $1)`,
    [prefix, events],
  );
}
