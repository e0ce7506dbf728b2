import path from 'node:path';
import pg from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../apps/server/src/embedded-postgres/embedded-postgres.ts';
import type { BenchContext } from '../bench-context.ts';

/**
 * A server that records the time of each commit, which no other process could know as precisely. It stops with the
 * benchmark.
 */
export async function startPostgres(context: BenchContext, name: string, durable: boolean): Promise<EmbeddedPostgres> {
  context.signal.throwIfAborted();
  const options = { dataDirectory: path.join(context.directory, name), durable };
  const first = await startEmbeddedPostgres(options);
  try {
    // Takes effect at the next start.
    await withClient(first.connectionString, (client) => client.query('alter system set track_commit_timestamp = on'));
  } finally {
    await first.stop();
  }
  const postgres = await startEmbeddedPostgres(options);
  context.closers.defer(() => postgres.stop());
  return postgres;
}

export async function withClient<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString });
  // Without a listener, a connection lost between two statements would end this process; the next statement reports it.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * When the database transaction that wrote each row was committed, by identifier, in milliseconds since 1970: the time
 * just before PostgreSQL writes the commit record. `sql` selects `id` and `written_by`, the row's xmin, for the
 * identifiers $1.
 */
export async function commitTimes(
  connectionString: string,
  sql: string,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await withClient(connectionString, (client) =>
    client.query<{ id: string; at_ms: number }>(
      `select id, (extract(epoch from pg_xact_commit_timestamp(written_by)) * 1000)::float8 as at_ms
         from (${sql}) as rows`,
      [ids],
    ),
  );
  return new Map(rows.map((row) => [row.id, row.at_ms]));
}
