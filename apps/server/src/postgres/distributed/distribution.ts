import { StartError } from '../../lib/start-error.ts';
import type { Database, Query } from '../database.ts';

/**
 * The tables that grow with the transactions of clients, on several nodes with Citus: each client's rows together on
 * one node, found by a hash of client_id. All other tables stay on the coordinator, which each process connects to.
 */

/** The first one decides where the rows of a client are. */
const DISTRIBUTED_TABLES = [
  'event_sequences',
  'events',
  'transactions',
  'status_messages',
  'other_status_updates',
  'status_inquiries',
  'callback_endpoints',
  'callback_outbox_ranges',
  'callback_outbox',
  'callback_attempts',
  'account_checks',
] as const;

/** Small tables that statements about clients read: each node has a copy. */
const REFERENCE_TABLES = ['clients', 'restores'] as const;

/** Whether the rows of clients are distributed over several nodes. Read once, at start. */
export async function isDistributed(database: Pick<Database, 'query'>): Promise<boolean> {
  const [extension] = await database.query<{ exists: boolean }>(
    "select to_regclass('pg_dist_partition') is not null as exists",
  );
  if (extension?.exists !== true) return false;
  const [table] = await database.query<{ distributed: boolean }>(
    `select exists (select from pg_dist_partition
                     where logicalrelid = to_regclass('tiba.transactions') and partmethod = 'h') as distributed`,
  );
  return table?.distributed === true;
}

/** Stays on the coordinator too, but is changed in statements that change clients, so Citus must know it. */
const KNOWN_TABLE = 'client_secret_uses';

/** Moving the rows of a large table takes long. */
const TIMEOUT_MS = 6 * 60 * 60_000;

/**
 * Distributes the tables of clients. Repeating it changes nothing, and goes on where an earlier call has ended: each
 * table is distributed in a database transaction of its own.
 * @throws StartError when the database cannot be distributed, or a process uses it
 */
export async function distribute(database: Database, onTable: (table: string) => void): Promise<void> {
  await requireCitus(database);
  await requireNoProcess(database);
  for (const table of REFERENCE_TABLES) {
    await changeOnce(database, table, onTable, async (query) => {
      // Triggers of such tables do not run where processes listen. The statements that change them notify as well.
      await query(`drop trigger if exists ${table}_changed on tiba.${table}`);
      await dropForeignKeysTo(query, table);
      await query(`select create_reference_table('tiba.${table}')`);
    });
  }
  await database.transaction(emptyOutboxRanges, { timeoutMs: TIMEOUT_MS });
  const [first] = DISTRIBUTED_TABLES;
  for (const table of DISTRIBUTED_TABLES) {
    const beside = table === first ? 'none' : `tiba.${first}`;
    await changeOnce(database, table, onTable, async (query) => {
      await query(`select create_distributed_table('tiba.${table}', 'client_id', colocate_with => '${beside}')`);
    });
  }
}

/**
 * Of the tables that stay on the coordinator: Citus takes over tables with a foreign key to one of its own, and then
 * refuses statements that one PostgreSQL executes. Neither clients nor restores are ever removed.
 */
async function dropForeignKeysTo(query: Query, table: string): Promise<void> {
  const { rows } = await query<{ name: string; source: string }>(
    `select quote_ident(conname) as name, conrelid::regclass::text as source from pg_constraint
      where contype = 'f' and confrelid = $1::regclass and conrelid <> all ($2::regclass[])`,
    [`tiba.${table}`, [...DISTRIBUTED_TABLES, KNOWN_TABLE].map((name) => `tiba.${name}`)],
  );
  for (const { name, source } of rows) await query(`alter table ${source} drop constraint ${name}`);
}

/** A distributed database has no ranges (callback-outbox-ranges.ts). */
async function emptyOutboxRanges(query: Query): Promise<void> {
  await query(`set local statement_timeout = ${TIMEOUT_MS}`);
  await query(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at)
     select client_id, endpoint_id, sequence, due_at
       from tiba.callback_outbox_ranges cross join lateral generate_series(first_sequence, last_sequence) as sequence`,
  );
  await query('delete from tiba.callback_outbox_ranges');
}

const CITUS_MIN_MAJOR = 13;

async function requireCitus(database: Database): Promise<void> {
  const [row] = await database.query<{ version: string }>(
    "select extversion as version from pg_extension where extname = 'citus'",
  );
  if (row === undefined) {
    throw new StartError(
      'the database cannot be distributed: it has no extension citus. ' +
        'Add citus to shared_preload_libraries on each node, run create extension citus there, and repeat',
    );
  }
  if (Number.parseInt(row.version, 10) < CITUS_MIN_MAJOR) {
    throw new StartError(`the database cannot be distributed: it has Citus ${row.version}, and 13 is the oldest`);
  }
  const [nodes] = await database.query<{ workers: number; coordinator: boolean }>(
    `select count(*) filter (where groupid > 0 and isactive)::int as workers,
            coalesce(bool_or(groupid = 0), false) as coordinator from pg_dist_node`,
  );
  if (nodes?.coordinator !== true || nodes.workers === 0) {
    throw new StartError(
      'the database cannot be distributed: run citus_set_coordinator_host and citus_add_node for each worker first',
    );
  }
}

/** A process that runs has read that the tables are not distributed, and its statements would fail. */
async function requireNoProcess(database: Database): Promise<void> {
  const [row] = await database.query<{ running: number }>(
    "select count(*)::int as running from tiba.processes where heartbeat_at > now() - interval '10 seconds'",
  );
  if ((row?.running ?? 0) > 0) {
    throw new StartError('the database cannot be distributed while processes use it: stop all of them, and repeat');
  }
}

async function changeOnce(
  database: Database,
  table: string,
  onTable: (table: string) => void,
  change: (query: Query) => Promise<void>,
): Promise<void> {
  const [known] = await database.query<{ done: boolean }>(
    `select exists (select from pg_dist_partition
                     where logicalrelid = to_regclass($1) and (partmethod = 'h' or repmodel = 't')) as done`,
    [`tiba.${table}`],
  );
  if (known?.done === true) return;
  onTable(table);
  await database.transaction(
    async (query) => {
      await query(`set local statement_timeout = ${TIMEOUT_MS}`);
      await query('set local lock_timeout = 0');
      await change(query);
    },
    { timeoutMs: TIMEOUT_MS },
  );
}
