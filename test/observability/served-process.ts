// `npm run serve` as a child process, with any standard output.

import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createFastClient } from '../contract/fast-client.ts';
import { findFreePort, writeProductionSettings } from '../sandbox/production-settings.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { send } from '../support/service.ts';
import { INHERITED } from '../support/suite-environment.ts';

const MAIN = fileURLToPath(new URL('../../apps/server/src/main.ts', import.meta.url));
const SECRET = 'the secret of the test';
const CONNECTIONS = 16;

export interface ServedProcess {
  readonly child: ChildProcess;
  /** Sends requests until the condition, checked now and then, is true; returns their number. Each must be answered. */
  loadUntil(what: string, condition: () => boolean | Promise<boolean>): Promise<number>;
  /** The value of a metric without labels. */
  metric(name: string): Promise<number>;
  /** KiB */
  residentMemory(): Promise<number>;
  /** Sends SIGTERM. Resolves with the exit code, or the signal that ended the process, and the time it took. */
  terminate(): Promise<{ code: number | string | null; tookMs: number }>;
}

/** Starts the service in production mode; resolves when it is ready. The test ends it. */
export async function startServedProcess(t: TestContext, stdout: 'pipe' | number): Promise<ServedProcess> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-log-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const database = await createTestDatabase();
  t.after(() => database.drop());
  await createClient(database);
  const [port, operatorPort] = [await findFreePort(), await findFreePort()];
  // The bank is never inquired.
  const settings = await writeProductionSettings(directory, operatorPort);
  const stdio: StdioOptions = ['ignore', stdout, 'inherit'];
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    stdio,
    env: {
      ...INHERITED,
      ...settings,
      // The setting is a URL, which needs a host. The server's socket, in the query, comes before it.
      DATABASE_URL: database.connection.connectionString?.replace('@/', '@localhost/'),
      TIBA_PORT: String(port),
      TIBA_OPERATOR_PORT: String(operatorPort),
    },
  });
  const exited = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const url = `http://127.0.0.1:${port}`;
  const operatorUrl = `http://127.0.0.1:${operatorPort}`;
  await eventually('the service is ready', async () => {
    if (child.exitCode !== null) throw new Error(`the service ended with code ${child.exitCode}`);
    return isReady(operatorUrl);
  });
  return {
    child,
    loadUntil: createLoad(url),
    metric: async (name) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await metricsOf(operatorUrl))?.[1]),
    residentMemory: async () =>
      Number(/^VmRSS:\s*(\d+)/m.exec(await readFile(`/proc/${child.pid}/status`, 'utf8'))?.[1]),
    async terminate() {
      const startedMs = performance.now();
      child.kill('SIGTERM');
      const [code, signal] = await exited;
      return { code: code ?? signal, tookMs: performance.now() - startedMs };
    },
  };
}

const isReady = (operatorUrl: string): Promise<boolean> =>
  send(`${operatorUrl}/readyz`, {}).then(
    ({ status }) => status === 200,
    () => false,
  );

const metricsOf = async (operatorUrl: string): Promise<string> => (await send(`${operatorUrl}/metrics`, {})).text;

async function createClient({ connection }: TestDatabase): Promise<void> {
  const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  try {
    await insertClient(database, {
      clientId: 'shop',
      name: 'shop',
      secretHash: hashSecret(SECRET),
      scopes: ['status:read'],
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
      const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'shop', client_secret: SECRET });
      const { access_token: token } = JSON.parse(
        (await send(`${url}/oauth/token`, { method: 'POST', body: form })).text,
      );
      const headers = { authorization: `Bearer ${token}` };
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
