import pg from 'pg';
import type { TestDatabase } from './database.ts';

/** Runs `body` while PostgreSQL ends all connections to this database and refuses new ones. */
export async function whileDatabaseRefuses(
  { connection: { connectionString = '' } }: TestDatabase,
  body: () => Promise<void>,
): Promise<void> {
  const database = /\/(test_\w+)\?/.exec(connectionString)?.[1] ?? '';
  const administrator = new pg.Client(connectionString.replace(database, 'tiba'));
  await administrator.connect();
  try {
    await administrator.query(`alter database ${database} allow_connections false`);
    await administrator.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database]);
    await body();
  } finally {
    await administrator.query(`alter database ${database} allow_connections true`);
    await administrator.end();
  }
}
