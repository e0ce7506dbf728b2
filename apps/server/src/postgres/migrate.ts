import { setTimeout as wait } from 'node:timers/promises';
import { StartError } from '../lib/start-error.ts';
import { type Database, DatabaseUnavailable, type Query, type Row } from './database.ts';
import {
  type AppliedMigration,
  commandsOf,
  compareSchema,
  MIGRATIONS_DIRECTORY,
  readMigrations,
  type SchemaState,
} from './migrations.ts';

/** An advisory lock: any number that no other program on the same database uses. "tiba" in ASCII. */
const MIGRATION_LOCK = 0x74696261;

const MIGRATION_TIMEOUT_MS = 10 * 60_000;
/**
 * A migration that waits for a table makes every later query on the table wait behind it. So it waits briefly, lets the
 * others through, and tries again.
 */
const LOCK_TIMEOUT_MS = 500;
const RETRY_DELAY_MS = 2_000;
const LOCK_NOT_AVAILABLE = '55P03';

export interface MigrateOptions {
  /** Another one in tests. */
  readonly directory?: URL;
  /** Called before each wait for another transaction, such as a long report or pg_dump. */
  readonly onBlocked?: () => void;
  /** How long to wait for other transactions in all. */
  readonly timeoutMs?: number;
}

/**
 * Migrates the database to this program's schema: applies each file of `migrations/` once, in order, forward only, all
 * of them in one transaction. Processes that start at the same time wait for each other. A database that a newer
 * program has migrated stays as it is.
 * @throws StartError when an applied file was changed afterwards, this program is too old for the database, or other
 * transactions held the tables for too long
 */
export async function migrate(
  database: Database,
  { directory = MIGRATIONS_DIRECTORY, onBlocked, timeoutMs = MIGRATION_TIMEOUT_MS }: MigrateOptions = {},
): Promise<void> {
  // Nothing to do must need no lock, and no node of a distributed PostgreSQL but the one that answers.
  if ((await readSchemaState(database, directory))?.kind === 'current') return;
  const known = await readMigrations(directory);
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    try {
      await database.transaction((query) => applyMissing(query, known), { timeoutMs: MIGRATION_TIMEOUT_MS });
      return;
    } catch (error) {
      if (!isBlocked(error)) throw error;
      if (performance.now() > endMs) {
        throw new StartError(
          'other transactions hold the tables that are to be migrated: end them (see pg_stat_activity), then repeat',
          { cause: error },
        );
      }
      onBlocked?.();
      await wait(RETRY_DELAY_MS);
    }
  }
}

async function applyMissing(query: Query, known: Awaited<ReturnType<typeof readMigrations>>): Promise<void> {
  // Waiting for another process's migrations may take longer than the deadline of a look-up.
  await query('set local statement_timeout = 0');
  await query('set local lock_timeout = 0');
  await query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
  await query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
  await query('create schema if not exists tiba');
  await query(
    `create table if not exists tiba.migrations (
     name text primary key,
     sha256 text not null,
     runs_with text not null,
     applied_at timestamptz not null default now())`,
  );
  const { rows } = await query<AppliedMigration & Row>(APPLIED);
  const state = compareSchema(known, rows);
  for (const { name, sql, sha256, runsWith } of state.kind === 'older' ? state.missing : []) {
    for (const command of commandsOf(sql)) await query(command);
    await query('insert into tiba.migrations (name, sha256, runs_with) values ($1, $2, $3)', [name, sha256, runsWith]);
  }
}

const APPLIED = 'select name, sha256, runs_with as "runsWith" from tiba.migrations';

const isBlocked = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable &&
  error.cause instanceof Error &&
  'code' in error.cause &&
  error.cause.code === LOCK_NOT_AVAILABLE;

/**
 * The state of the database's schema, without changing it; null where there is none.
 * @throws StartError as `migrate` does
 */
export async function readSchemaState(
  database: Database,
  directory = MIGRATIONS_DIRECTORY,
): Promise<SchemaState | null> {
  const [table] = await database.query<{ exists: boolean }>(
    "select to_regclass('tiba.migrations') is not null as exists",
  );
  if (table?.exists !== true) return null;
  return compareSchema(await readMigrations(directory), await database.query<AppliedMigration & Row>(APPLIED));
}

/**
 * For programs that must not change the schema.
 * @throws StartError when it has to be migrated first
 */
export async function requireSchema(database: Database): Promise<void> {
  const state = await readSchemaState(database);
  if (state === null) throw new StartError(`the database has no tables of Tiba: ${MIGRATE_FIRST}`);
  if (state.kind !== 'older') return;
  const missing = state.missing.map(({ name }) => name).join(', ');
  throw new StartError(`the database is older than this program, ${missing} is missing: ${MIGRATE_FIRST}`);
}

const MIGRATE_FIRST = 'run npm run migrate first, or set TIBA_MIGRATE=yes for the service';
