import { runMigrations } from 'graphile-worker';
import pg from 'pg';

/** Any number that no other program on the same database locks: "tibj" in ASCII. */
const JOB_MIGRATION_LOCK = 0x7469626a;

/**
 * Brings graphile-worker's own schema, in which jobs are kept, to the version that this program uses. Processes that
 * start together wait for each other.
 */
export async function migrateJobs(connection: pg.ClientConfig): Promise<void> {
  const pgPool = new pg.Pool({ ...connection, max: 2, application_name: 'tiba job migrations' });
  // The statement that was under way reports the loss of a connection; unheard it would end this process.
  pgPool.on('error', () => {});
  pgPool.on('connect', (client) => client.on('error', () => {}));
  try {
    const client = await pgPool.connect();
    try {
      await client.query('select pg_advisory_lock($1)', [JOB_MIGRATION_LOCK]);
      await runMigrations({ pgPool });
    } finally {
      // Closing the connection lets the lock go.
      client.release(true);
    }
  } finally {
    await pgPool.end();
  }
}
