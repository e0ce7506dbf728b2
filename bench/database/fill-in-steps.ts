import pg from 'pg';
import type { BenchContext } from '../bench-context.ts';
import { type BenchDatabase, makeEmptyDatabase } from './databases.ts';

const ROWS_PER_STATEMENT = 50_000;

export interface Filling {
  /** Of the database. */
  readonly name: string;
  readonly rows: number;
  /** Inserts the transactions from $1 to $2, which count from 0. */
  readonly sql: string;
  /** Its further parameters. */
  readonly values: readonly unknown[];
  /** What the transactions need, in the same database transaction. */
  readonly prepare?: (client: pg.Client) => Promise<unknown>;
  /** What belongs to the transactions, in the same database transaction. */
  readonly complete?: (client: pg.Client) => Promise<unknown>;
}

/** Creates a database of transactions that a statement makes up, some thousands at a time. */
export async function fillInSteps(
  context: BenchContext,
  { name, rows, sql, values, prepare, complete }: Filling,
): Promise<BenchDatabase> {
  const { signal, logProgress } = context;
  const connectionString = await makeEmptyDatabase(context, name);
  logProgress(`filling ${rows.toLocaleString('en')} transactions …`);
  const client = new pg.Client({ connectionString });
  // Without a listener, a connection lost between two statements would end this process; the next statement reports it.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query('begin');
    // As in fill.ts: without a write-ahead log, and without foreign key checks.
    await client.query('truncate tiba.transactions cascade');
    await client.query('set local session_replication_role = replica');
    await prepare?.(client);
    for (let from = 0; from < rows; from += ROWS_PER_STATEMENT) {
      signal.throwIfAborted();
      const to = Math.min(from + ROWS_PER_STATEMENT, rows);
      await client.query(sql, [from, to - 1, ...values]);
      if (to % 1_000_000 === 0) logProgress(`  ${to.toLocaleString('en')} of ${rows.toLocaleString('en')}`);
    }
    await complete?.(client);
    await client.query('commit');
    await client.query('vacuum (analyze)');
    await client.query('checkpoint');
  } finally {
    await client.end();
  }
  return { connectionString, rows };
}
