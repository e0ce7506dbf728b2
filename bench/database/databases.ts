import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Scope } from '../../apps/server/src/auth/scopes.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { migrate } from '../../apps/server/src/postgres/migrate.ts';
import type { BenchContext } from '../bench-context.ts';
import { fillTransactions } from './fill.ts';
import { CLIENT_ID } from './prototypes.ts';

export interface BenchDatabase {
  readonly connectionString: string;
  /** How many transactions it holds, numbered from 0. */
  readonly rows: number;
}

const SCOPES: readonly Scope[] = [
  'status:read',
  'transactions:read',
  'account:check',
  'callbacks:manage',
  'feed:write',
  'operator:read',
  'audit:read',
];
/** Counted exactly like any limit, and never reached. */
const REQUESTS_PER_MINUTE = 100_000_000;

/**
 * Creates a database with the service's schema, the client of the requests, and this many transactions of that client.
 */
export async function makeDatabase(context: BenchContext, name: string, rows: number): Promise<BenchDatabase> {
  const { signal, logProgress } = context;
  const connectionString = await makeEmptyDatabase(context, name);
  const startedMs = performance.now();
  const logRows = (done: number): void => logProgress(`  ${done.toLocaleString('en')} of ${rows.toLocaleString('en')}`);
  logProgress(`filling ${rows.toLocaleString('en')} transactions …`);
  await fillTransactions({ connectionString, rows, signal, onProgress: everyTenth(rows, logRows) });
  logProgress(`  done after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  return { connectionString, rows };
}

/** Creates a database with the service's schema and the client of the requests. Resolves to its connection string. */
export async function makeEmptyDatabase(
  { postgres, log, signal }: Pick<BenchContext, 'postgres' | 'log' | 'signal'>,
  name: string,
): Promise<string> {
  signal.throwIfAborted();
  const connectionString = postgres.connectionString.replace('/tiba?', `/${name}?`);
  await createDatabase(postgres.connectionString, name);
  const database = openDatabase({ connection: { connectionString }, connectionsMax: 1, log });
  try {
    await migrate(database);
    await insertClient(database, {
      clientId: CLIENT_ID,
      name: CLIENT_ID,
      // There is no secret with this hash: tokens are issued without one.
      secretHash: randomBytes(32),
      scopes: SCOPES,
      limits: { 'check-status': REQUESTS_PER_MINUTE, 'check-account': REQUESTS_PER_MINUTE },
    });
  } finally {
    await database.close();
  }
  return connectionString;
}

export async function createDatabase(connectionString: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
}

/** Calls `logRows` each time another tenth is done. */
function everyTenth(rows: number, logRows: (done: number) => void): (done: number) => void {
  let logged = 0;
  return (done) => {
    if (done >= rows || done - logged < rows / 10) return;
    logged = done;
    logRows(done);
  };
}
