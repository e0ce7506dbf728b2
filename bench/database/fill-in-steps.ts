import pg from 'pg';
import type { BenchContext } from '../bench-context.ts';
import { letUseBothCores } from '../cores.ts';
import { logProgressOf } from '../progress.ts';
import { type BenchDatabase, makeEmptyDatabase } from './databases.ts';
import { type DroppedIndex, dropIndexes } from './indexes.ts';
import { vacuumAsInProduction } from './statistics.ts';

const ROWS_PER_STATEMENT = 50_000;
/** One for each of the two cores: nothing is measured meanwhile. */
const CONNECTIONS = 2;
const TRANSACTIONS = ['tiba.transactions', 'tiba.transactions_in_process', 'tiba.transactions_final'];
/** Of these a progress line says how long it still takes. */
const ROWS_WITH_PROGRESS = 1_000_000;

export interface Filling {
  /** Of the database. */
  readonly name: string;
  readonly rows: number;
  /** Inserts the transactions from $1 to $2, which count from 0. */
  readonly sql: string;
  /** Its further parameters. */
  readonly values: readonly unknown[];
  /** Further tables with many rows. Their indexes are built at the end, as those of the transactions. */
  readonly tables?: readonly string[];
  /** What the transactions need. */
  readonly prepare?: (client: pg.Client) => Promise<unknown>;
  /** What belongs to the transactions. The tables have no indexes yet. */
  readonly complete?: (client: pg.Client) => Promise<unknown>;
}

/**
 * Creates a database of transactions that a statement makes up, some thousands at a time, over two connections. The
 * indexes are built when all rows are there.
 */
export async function fillInSteps(context: BenchContext, filling: Filling): Promise<BenchDatabase> {
  const { name, rows, tables = [], prepare, complete } = filling;
  const connectionString = await makeEmptyDatabase(context, name);
  const startedMs = performance.now();
  context.logProgress(`filling ${rows.toLocaleString('en')} transactions …`);
  const clients = await connect(context, connectionString);
  const [client] = clients;
  if (client === undefined) throw new Error('there is no connection to fill the database');
  try {
    const filled = [...TRANSACTIONS, ...tables];
    await setAutovacuum(client, filled, false);
    const indexes = await dropIndexes(client, filled);
    await prepare?.(client);
    await insertRows(context, clients, filling);
    await complete?.(client);
    await createIndexes(context, clients, indexes, rows);
    await setAutovacuum(client, filled, true);
    context.signal.throwIfAborted();
    await vacuumAsInProduction(client);
    await client.query('checkpoint');
  } finally {
    await Promise.all(clients.map((each) => each.end()));
  }
  context.logProgress(`  filled after ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
  return { connectionString, rows };
}

async function connect({ cores }: BenchContext, connectionString: string): Promise<pg.Client[]> {
  const clients = Array.from({ length: CONNECTIONS }, () => new pg.Client({ connectionString }));
  const pids = await Promise.all(
    clients.map(async (client) => {
      // Without a listener, a connection lost between two statements would end this process; the next one reports it.
      client.on('error', () => {});
      await client.connect();
      // Turns triggers off. The memory is for indexes.
      await client.query(`set session_replication_role = replica; set maintenance_work_mem = '1GB'`);
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      return rows[0]?.pid ?? Number.NaN;
    }),
  );
  await letUseBothCores(cores, pids);
  return clients;
}

/** Off while a table is filled: it is vacuumed and analyzed at the end. */
async function setAutovacuum(client: pg.Client, tables: readonly string[], isOn: boolean): Promise<void> {
  for (const table of tables.filter((each) => each !== 'tiba.transactions'))
    await client.query(
      `alter table ${table} ${isOn ? 'reset (autovacuum_enabled)' : 'set (autovacuum_enabled = off)'}`,
    );
}

async function insertRows(context: BenchContext, clients: readonly pg.Client[], filling: Filling): Promise<void> {
  const { rows, sql, values } = filling;
  const progress = rows >= ROWS_WITH_PROGRESS ? logProgressOf(context, 'rows', rows) : () => {};
  let from = 0;
  await inParallel(context, clients, (client) => {
    if (from >= rows) return null;
    const first = from;
    from = Math.min(first + ROWS_PER_STATEMENT, rows);
    const last = from - 1;
    return client.query(sql, [first, last, ...values]).then(() => progress(last - first + 1));
  });
}

/** The keys at the end, as in the migration, which says why. */
async function createIndexes(
  context: BenchContext,
  clients: readonly pg.Client[],
  indexes: readonly DroppedIndex[],
  rows: number,
): Promise<void> {
  const progress = rows >= ROWS_WITH_PROGRESS ? logProgressOf(context, 'indexes', indexes.length) : () => {};
  for (const isKey of [false, true]) {
    const queue = indexes.filter(({ constraintSql }) => (constraintSql !== null) === isKey);
    await inParallel(context, clients, (client) => {
      const index = queue.shift();
      if (index === undefined) return null;
      context.signal.throwIfAborted();
      return client.query(index.createSql).then(() => progress(1));
    });
  }
  for (const { constraintSql } of indexes) if (constraintSql !== null) await clients[0]?.query(constraintSql);
}

/** Lets each connection do one piece of work after the other, until there is none. */
async function inParallel(
  { signal }: BenchContext,
  clients: readonly pg.Client[],
  next: (client: pg.Client) => Promise<unknown> | null,
): Promise<void> {
  const failing = new AbortController();
  const ending = AbortSignal.any([signal, failing.signal]);
  const workers = clients.map(async (client) => {
    try {
      for (;;) {
        ending.throwIfAborted();
        const work = next(client);
        if (work === null) return;
        await work;
      }
    } catch (error) {
      failing.abort(error);
      throw error;
    }
  });
  await Promise.allSettled(workers);
  await Promise.all(workers);
}
