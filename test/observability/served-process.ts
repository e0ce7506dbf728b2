// `npm run serve` with any standard output, and load on it.

import type { TestContext } from 'node:test';
import pino from 'pino';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createFastClient } from '../contract/fast-client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { logIn, type ServeOptions, type ServeProcess, startServe } from '../support/serve.ts';

export const CLIENT_ID = 'shop';
const SECRET = 'the secret of the test';
const CONNECTIONS = 16;

export interface ServedProcess extends ServeProcess {
  readonly connection: TestDatabase['connection'];
  /** A token for status checks and for the feed. */
  logIn(): Promise<string>;
  /** Sends requests until the condition, checked now and then, is true; returns their number. Each must be answered. */
  loadUntil(what: string, condition: () => boolean | Promise<boolean>): Promise<number>;
}

/** Starts the service in production mode; resolves when it is ready. The test ends it. */
export async function startServedProcess(
  t: TestContext,
  stdout: 'pipe' | number,
  options: Omit<ServeOptions, 'database' | 'stdout'> = {},
): Promise<ServedProcess> {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  await createClient(database);
  // A machine that is busy with tests delays every event loop.
  const environment = { TIBA_EVENT_LOOP_DELAY_MS: '0', ...options.environment };
  const served = await startServe({ ...options, database, stdout, environment });
  t.after(() => served.release());
  return {
    ...served,
    connection: database.connection,
    logIn: () => logIn(served.url, CLIENT_ID, SECRET),
    loadUntil: createLoad(served.url),
  };
}

async function createClient({ connection }: TestDatabase): Promise<void> {
  const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  try {
    await insertClient(database, {
      clientId: CLIENT_ID,
      name: CLIENT_ID,
      secretHash: hashSecret(SECRET),
      scopes: ['status:read', 'feed:write'],
      limits: { 'check-status': 1_000_000 },
    });
  } finally {
    await database.close();
  }
}

const createLoad =
  (url: string): ServedProcess['loadUntil'] =>
  async (what, condition) => {
    const client = createFastClient(url, CONNECTIONS);
    try {
      let count = 0;
      const reached = new AbortController();
      const headers = { authorization: `Bearer ${await logIn(url, CLIENT_ID, SECRET)}` };
      const repeatRequest = async (): Promise<void> => {
        while (!reached.signal.aborted) {
          const { status, text } = await client.send('/api/v1/check-status/NONE', { headers });
          if (status !== 404) throw new Error(`request ${count} failed with ${status}: ${text}`);
          count += 1;
        }
      };
      const untilReached = eventually(what, condition, 60_000).finally(() => reached.abort());
      await Promise.all([untilReached, ...Array.from({ length: CONNECTIONS }, repeatRequest)]);
      return count;
    } finally {
      await client.close();
    }
  };
