import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { runMigrations } from 'graphile-worker';
import pg from 'pg';
import type { Database } from './database.ts';

const MIGRATIONS_DIRECTORY = new URL('migrations/', import.meta.url);

/** Any number that no other program on the same database locks: "tiba" in ASCII. */
const MIGRATION_LOCK = 0x74696261;

/**
 * Brings the database to this program's schema: each file of `migrations/` once, in order, forward only, each in a
 * transaction. Processes that start together wait for each other.
 * @throws Error when a file that was applied has been changed since, or the database is newer than this program.
 */
export async function migrate(database: Database): Promise<void> {
  const migrations = await readMigrations();
  await database.transaction(
    async (query) => {
      // The wait for another process's migrations may be longer than any look-up's deadline.
      await query('set local statement_timeout = 0');
      await query('set local lock_timeout = 0');
      await query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
      await query('create schema if not exists tiba');
      await query(
        `create table if not exists tiba.migrations (
         name text primary key, sha256 text not null, applied_at timestamptz not null default now())`,
      );
      const { rows } = await query<{ name: string; sha256: string }>('select name, sha256 from tiba.migrations');
      const applied = new Map(rows.map((row) => [row.name, row.sha256]));
      for (const { name, sql, sha256 } of migrations) {
        const before = applied.get(name);
        applied.delete(name);
        if (before === sha256) continue;
        if (before !== undefined) throw new Error(`migration ${name} was changed after it had been applied`);
        await query(sql);
        await query('insert into tiba.migrations (name, sha256) values ($1, $2)', [name, sha256]);
      }
      if (applied.size > 0) {
        throw new Error(`the database is newer than this program: it knows ${[...applied.keys()].join(', ')}`);
      }
    },
    { timeoutMs: MIGRATION_TIMEOUT_MS },
  );
}

const MIGRATION_TIMEOUT_MS = 10 * 60_000;

async function readMigrations(): Promise<{ name: string; sql: string; sha256: string }[]> {
  const names = (await readdir(MIGRATIONS_DIRECTORY)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, MIGRATIONS_DIRECTORY), 'utf8');
      return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

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
