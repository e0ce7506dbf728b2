import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../apps/server/src/postgres/embedded.ts';

export interface TestDatabase {
  readonly connection: pg.ClientConfig;
  drop(): Promise<void>;
}

export interface TestServer {
  readonly connectionString: string;
  stop(): Promise<void>;
}

/** Where the run of all tests tells each file which PostgreSQL to use. */
export const TEST_SERVER_VARIABLE = 'TIBA_TEST_POSTGRES';

/** A PostgreSQL of the tests' own. It need not survive a power cut. */
export async function startTestServer(): Promise<TestServer> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-test-'));
  const server = await startEmbeddedPostgres({ dataDirectory: path.join(directory, 'postgres'), durable: false });
  return {
    connectionString: server.connectionString,
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** An empty database: on the server of the whole run, or, for a file that is run alone, on a server of its own. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const shared = process.env[TEST_SERVER_VARIABLE];
  const own = shared === undefined ? await startTestServer() : null;
  const server = shared ?? own?.connectionString ?? '';
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(server, `create database ${name}`);
  return {
    connection: { connectionString: server.replace('/tiba?', `/${name}?`) },
    async drop() {
      await administer(server, `drop database ${name} with (force)`);
      await own?.stop();
    },
  };
}

async function administer(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
