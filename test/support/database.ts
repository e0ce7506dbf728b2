import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { startEmbeddedPostgres } from '../../apps/server/src/embedded-postgres/embedded-postgres.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { migrate } from '../../apps/server/src/postgres/migrate.ts';
import { TEST_SERVER_VARIABLE } from './suite-environment.ts';

export interface TestDatabase {
  readonly connection: pg.ClientConfig;
  drop(): Promise<void>;
}

/** On a machine that is busy with tests, a query may take longer than the service's own timeouts allow. */
export const GENEROUS_TIMEOUTS = {
  connectionTimeoutMillis: 20_000,
  statement_timeout: 20_000,
  lock_timeout: 20_000,
  query_timeout: 20_000,
};

export interface TestServer {
  readonly connectionString: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a PostgreSQL for the tests, whose new databases have Tiba's tables. Its data need not survive a power cut. */
export async function startTestServer(): Promise<TestServer> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-test-'));
  const server = await startEmbeddedPostgres({ dataDirectory: path.join(directory, 'postgres'), durable: false });
  await migrateTemplate(connectionTo(server.connectionString, 'template1'));
  return {
    connectionString: server.connectionString,
    pid: server.pid,
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function migrateTemplate(connection: pg.ClientConfig): Promise<void> {
  const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  try {
    await migrate(database);
  } finally {
    await database.close();
  }
}

/**
 * A database with Tiba's tables: on the server of the whole test run or, for a file that is run alone, on a server of
 * its own.
 */
export const createTestDatabase = (): Promise<TestDatabase> => createFrom('template1');

/** The same database with the service's own timeouts, for tests of these timeouts. */
export const withServiceTimeouts = ({ connection: { connectionString = '' }, drop }: TestDatabase): TestDatabase => ({
  connection: { connectionString },
  drop,
});

export const createEmptyTestDatabase = (): Promise<TestDatabase> => createFrom('template0');

async function createFrom(template: string): Promise<TestDatabase> {
  const shared = process.env[TEST_SERVER_VARIABLE];
  const own = shared === undefined ? await startTestServer() : null;
  const server = shared ?? own?.connectionString ?? '';
  const name = `test_${randomBytes(6).toString('hex')}`;
  await copyFiles(server, `create database ${name} template ${template} strategy file_copy`);
  return {
    connection: connectionTo(server, name),
    async drop() {
      await administer(server, `drop database ${name} with (force)`);
      await own?.stop();
    },
  };
}

/** Runs one statement of a test on a connection of its own. */
export async function querySql(
  { connection }: TestDatabase,
  sql: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

/**
 * SQL of the time in a column, days earlier, for updates. In those a distributed PostgreSQL refuses to subtract from a
 * time with a time zone: how long a day is depends on the session.
 */
export const daysEarlier = (column: string, days: number): string =>
  `(${column} at time zone 'UTC' - interval '${days} days') at time zone 'UTC'`;

/** A backup of a database to which nothing is connected. It is dropped before the database that it is a copy of. */
export async function copyTestDatabase({ connection: { connectionString = '' } }: TestDatabase): Promise<TestDatabase> {
  const [, source = ''] = /\/(test_\w+)\?/.exec(connectionString) ?? [];
  const server = connectionString.replace(`/${source}?`, '/tiba?');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(server, `create database ${name} template ${source}`);
  return {
    connection: connectionTo(server, name),
    drop: () => administer(server, `drop database ${name} with (force)`),
  };
}

/**
 * Cloning files in the kernel takes less than half of the processor time of copying them, and of PostgreSQL's default,
 * which writes each page to the write-ahead log. Some file systems cannot.
 */
async function copyFiles(server: string, sql: string): Promise<void> {
  await administer(server, sql, { options: '-c file_copy_method=clone' }).catch(() => administer(server, sql));
}

const connectionTo = (server: string, database: string): pg.ClientConfig => ({
  connectionString: server.replace('/tiba?', `/${database}?`),
  ...GENEROUS_TIMEOUTS,
});

async function administer(connectionString: string, sql: string, settings: pg.ClientConfig = {}): Promise<void> {
  const client = new pg.Client({ connectionString, ...settings });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
