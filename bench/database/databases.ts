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

const SCOPES: readonly Scope[] = ['status:read', 'account:check', 'callbacks:manage', 'feed:write'];
/** Counted as exactly as any limit, and never reached. */
const REQUESTS_PER_MINUTE = 100_000_000;

/** A database with the service's schema, the client that asks, and this many transactions of it. */
export async function makeDatabase(stage: BenchContext, name: string, rows: number): Promise<BenchDatabase> {
  const { signal, say } = stage;
  const connectionString = await makeEmptyDatabase(stage, name);
  const startedMs = performance.now();
  const sayProgress = (done: number): void => say(`  ${done.toLocaleString('en')} of ${rows.toLocaleString('en')}`);
  say(`filling ${rows.toLocaleString('en')} transactions …`);
  await fillTransactions({ connectionString, rows, signal, onProgress: sayEveryTenth(rows, sayProgress) });
  say(`  filled in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  return { connectionString, rows };
}

/** A database with the service's schema and the client that asks. Gives its connection string. */
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
      // Of a secret that nobody knows: tokens are issued without it.
      secretHash: randomBytes(32),
      scopes: SCOPES,
      limits: { 'check-status': REQUESTS_PER_MINUTE, 'check-account': REQUESTS_PER_MINUTE },
    });
  } finally {
    await database.close();
  }
  return connectionString;
}

async function createDatabase(connectionString: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
}

function sayEveryTenth(rows: number, sayProgress: (done: number) => void): (done: number) => void {
  let said = 0;
  return (done) => {
    if (done >= rows || done - said < rows / 10) return;
    said = done;
    sayProgress(done);
  };
}
