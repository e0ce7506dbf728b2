import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import type { Scope } from '../../apps/server/src/auth/scopes.ts';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts';
import { eventually } from '../../test/support/eventually.ts';
import { send, statusUpdate } from '../../test/support/requests.ts';
import { logIn, type ServeProcess, startServe } from '../../test/support/serve.ts';

const SECRET = 'the secret of the campaign';
const UNLIMITED = { 'check-status': 100_000_000 };
const TRANSACTIONS = 1_000;

/** A database with clients and transactions, and a directory for logs: what all services of a part share. */
export interface Setting {
  readonly database: TestDatabase;
  readonly directory: string;
  close(): Promise<void>;
}

/** A client with few requests, one that may send as many as it likes, the core, and the operator's monitor. */
const CLIENTS: Readonly<Record<keyof Tokens, { scopes: readonly Scope[]; isUnlimited: boolean }>> = {
  limited: { scopes: ['status:read'], isUnlimited: false },
  unlimited: { scopes: ['status:read'], isUnlimited: true },
  core: { scopes: ['feed:write'], isUnlimited: false },
  operator: { scopes: ['operator:read'], isUnlimited: false },
};

export interface Tokens {
  readonly limited: string;
  readonly unlimited: string;
  readonly core: string;
  readonly operator: string;
}

export async function createSetting(): Promise<Setting> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-campaign-'));
  const database = await createTestDatabase();
  const opened = openDatabase({
    connection: database.connection,
    connectionsMax: 1,
    log: pino({ level: 'silent' }),
  });
  try {
    for (const [clientId, { scopes, isUnlimited }] of Object.entries(CLIENTS)) {
      const limits = isUnlimited ? { limits: UNLIMITED } : {};
      await insertClient(opened, { clientId, name: clientId, secretHash: hashSecret(SECRET), scopes, ...limits });
    }
  } finally {
    await opened.close();
  }
  return {
    database,
    directory,
    async close() {
      await database.drop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The service, with `TRANSACTIONS` transactions of the client `unlimited`. */
export interface LoadedService extends ServeProcess {
  readonly tokens: Tokens;
  /** The path of a status check that finds a transaction. */
  statusPath(index: number): string;
}

export async function startService(
  setting: Setting,
  stdout: 'pipe' | number,
  nodeOptions: readonly string[] = [],
): Promise<LoadedService> {
  const served = await startServe({ database: setting.database, stdout, nodeOptions });
  try {
    const tokens = await logInAll(served.url);
    await feed(served.operatorUrl, tokens.core);
    return { ...served, tokens, statusPath: (index) => `/api/v1/check-status/${idOf(index % TRANSACTIONS)}` };
  } catch (error) {
    await served.release();
    throw error;
  }
}

/** A service that has just started, on a busy machine, may reject requests for its load. */
async function logInAll(url: string): Promise<Tokens> {
  const tokens: Record<string, string> = {};
  for (const clientId of Object.keys(CLIENTS))
    await eventually(`${clientId} has logged in`, async () => {
      tokens[clientId] = await logIn(url, clientId, SECRET).catch(() => '');
      return tokens[clientId] !== '';
    });
  return tokens as unknown as Tokens;
}

const idOf = (index: number): string => `TB${String(index).padStart(10, '0')}`;

/** A feed of transactions of the client `unlimited`. */
export const feedBody = (first: number, count: number): string =>
  JSON.stringify(
    Array.from({ length: count }, (_, index) =>
      statusUpdate({
        client_id: 'unlimited',
        transaction_id: idOf(first + index),
        reference_id: `INV/${first + index}`,
        status: 'SUCCESS',
      }),
    ),
  );

async function feed(operatorUrl: string, token: string): Promise<void> {
  const { status, text } = await send(`${operatorUrl}/feed/v1/transactions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: feedBody(0, TRANSACTIONS),
  });
  if (status !== 200) throw new Error(`feeding the transactions failed: ${text}`);
}

export interface LogFile {
  readonly fd: number;
  /** The bytes of the lines so far, without those that name this client. */
  bytesExceptOf(clientId: string): Promise<number>;
  close(): Promise<void>;
}

export async function openLogFile({ directory }: Setting, name: string): Promise<LogFile> {
  const file = path.join(directory, name);
  const handle = await open(file, 'w');
  return {
    fd: handle.fd,
    async bytesExceptOf(clientId) {
      const lines = (await readFile(file, 'latin1')).split('\n');
      return lines.reduce((sum, line) => (line.includes(`"clientId":"${clientId}"`) ? sum : sum + line.length + 1), 0);
    },
    async close() {
      await handle.close();
      await rm(file, { force: true });
    },
  };
}
