// `npm run serve` with any standard output, and load on it.

import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import pino from 'pino';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { logIn, type ServeOptions, type ServeProcess, startServe } from '../support/serve.ts';

export const CLIENT_ID = 'shop';
const SECRET = 'the secret of the test';
const IN_FLIGHT = 64;
const EXPECTED = 'HTTP/1.1 404 ';

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

/**
 * Sends one request again and again on one connection, and counts the answers by their first line: a client that reads
 * more of them would take more processor time than the service.
 */
const createLoad =
  (url: string): ServedProcess['loadUntil'] =>
  async (what, condition) => {
    const { hostname, port, host } = new URL(url);
    const head = ['GET /api/v1/check-status/NONE HTTP/1.1', `Host: ${host}`];
    const request = `${[...head, `Authorization: Bearer ${await logIn(url, CLIENT_ID, SECRET)}`].join('\r\n')}\r\n\r\n`;
    const socket = connect(Number(port), hostname).setEncoding('latin1');
    let [sent, answered, isReached, rest] = [0, 0, false, ''];
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => {});
    const send = (): void => {
      if (isReached) return;
      const count = IN_FLIGHT - (sent - answered);
      socket.write(request.repeat(count));
      sent += count;
    };
    socket.on('data', (text: string) => {
      const statuses = (rest + text).match(/HTTP\/1\.1 \d{3} /g) ?? [];
      // Shorter than a status, of which a part may have arrived.
      rest = (rest + text).slice(1 - EXPECTED.length);
      const other = statuses.find((status) => status !== EXPECTED);
      if (other !== undefined) failed.reject(new Error(`request ${answered} failed with ${other}: ${text}`));
      answered += statuses.length;
      send();
    });
    socket.once('close', () => failed.reject(new Error(`the connection ended after ${answered} of ${sent} answers`)));
    try {
      send();
      await Promise.race([eventually(what, condition, 60_000), failed.promise]);
      isReached = true;
      await Promise.race([eventually('all are answered', () => answered === sent), failed.promise]);
      return answered;
    } finally {
      socket.destroy();
    }
  };
