import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { runMigrations } from 'graphile-worker';
import pg from 'pg';
import type { Database } from './database.ts';

const MIGRATIONS_DIRECTORY = new URL('migrations/', import.meta.url);

/** Advisory locks: any numbers that no other program on the same database uses. "tiba" and "tibj" in ASCII. */
const MIGRATION_LOCK = 0x74696261;
const JOB_MIGRATION_LOCK = 0x7469626a;

const MIGRATION_TIMEOUT_MS = 10 * 60_000;

/**
 * Migrates the database to this program's schema: applies each file of `migrations/` once, in order, forward only, all
 * of them in one transaction. Processes that start at the same time wait for each other.
 * @throws Error when an applied file was changed afterwards, or the database is newer than this program.
 */
export async function migrate(database: Database): Promise<void> {
  const migrations = await readMigrations();
  await database.transaction(
    async (query) => {
      // Waiting for another process's migrations may take longer than the deadline of a look-up.
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
        const appliedSha256 = applied.get(name);
        applied.delete(name);
        if (appliedSha256 === sha256) continue;
        if (appliedSha256 !== undefined) throw new Error(`migration ${name} was changed after it had been applied`);
        await query(sql);
        await query('insert into tiba.migrations (name, sha256) values ($1, $2)', [name, sha256]);
      }
      if (applied.size > 0) {
        const unknown = [...applied.keys()].join(', ');
        throw new Error(
          `the database is newer than this program, which does not know ${unknown}: start the newer version`,
        );
      }
    },
    { timeoutMs: MIGRATION_TIMEOUT_MS },
  );
}

async function readMigrations(): Promise<{ name: string; sql: string; sha256: string }[]> {
  const names = (await readdir(MIGRATIONS_DIRECTORY)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, MIGRATIONS_DIRECTORY), 'utf8');
      return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

/**
 * Migrates graphile-worker's own schema, which holds the jobs, to the version that this program uses. Processes that
 * start at the same time wait for each other.
 */
export async function migrateJobs(connection: pg.ClientConfig): Promise<void> {
  const pgPool = new pg.Pool({ ...connection, max: 2, application_name: 'tiba job migrations' });
  // The statement in flight reports a lost connection. Without listeners, the event would end this process.
  pgPool.on('error', () => {});
  pgPool.on('connect', (client) => client.on('error', () => {}));
  try {
    const client = await pgPool.connect();
    try {
      await client.query('select pg_advisory_lock($1)', [JOB_MIGRATION_LOCK]);
      await runMigrations({ pgPool });
    } finally {
      // Closing the connection releases the lock.
      client.release(true);
    }
  } finally {
    await pgPool.end();
  }
}
