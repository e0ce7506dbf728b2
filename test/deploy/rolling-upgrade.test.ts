import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import pg from 'pg';
import pino from 'pino';
import type { Scope } from '../../apps/server/src/auth/scopes.ts';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { migrate, readSchemaState } from '../../apps/server/src/postgres/migrate.ts';
import { findLastingPort } from '../../campaign/random/ports.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { CLIENT_SCOPES, send, statusUpdate } from '../support/requests.ts';
import { commandIsMissing } from '../support/required-command.ts';
import { logIn, type ServeProcess, startServe } from '../support/serve.ts';
import type { TestClient } from '../support/service.ts';
import { type ProcessPorts, startHaproxy } from './haproxy.ts';
import { startLoad } from './load.ts';
import { createNextRelease, NEXT_MIGRATION, NEXT_VERSION } from './next-release.ts';

const PLENTY = 1_000_000_000;
const CHECKS_EACH = 'inter 150ms fastinter 50ms';
const SETTINGS = {
  TIBA_MIGRATE: 'no',
  TIBA_STOP_DELAY_SECONDS: '1',
  TIBA_TRUSTED_PROXIES: '127.0.0.1',
  TIBA_OPERATOR_TRUSTED_PROXIES: '127.0.0.1',
  TIBA_EVENTS_PER_MINUTE: '100000000',
  // A machine that is busy with tests delays every event loop.
  TIBA_EVENT_LOOP_DELAY_MS: '0',
};

/** Release N, release N + 1 (next-release.ts) and HAProxy with the shipped configuration, all as processes. */
suite('a rolling upgrade', { skip: commandIsMissing('haproxy') }, () => {
  test('from N to N + 1 and back under load: no request fails, and both releases serve side by side', async (context) => {
    await using closers = new AsyncDisposableStack();
    const database = await createTestDatabase();
    closers.defer(() => database.drop());
    const next = await createNextRelease();
    closers.defer(() => next.remove());
    const ports = [await choosePorts(), await choosePorts()] as const;
    const [one, first] = await Promise.all([
      startProcess(closers, database, ports[0]),
      startProcess(closers, database, ports[1]),
    ]);
    const proxy = await startHaproxy({ processes: ports, checksEach: CHECKS_EACH });
    closers.defer(() => proxy.stop());
    const { client, core, operator } = await createClients(database, proxy.url);
    const load = startLoad({ url: proxy.url, coreUrl: proxy.coreUrl, client, coreToken: core.token });
    closers.defer(async () => void (await load.stop()));
    const answersGoOn = async (): Promise<void> => {
      const before = load.answered();
      await eventually('requests are answered', () => load.answered() > before + 50);
    };

    await answersGoOn();
    await migrateTo(database, next.migrations);
    await first.terminate();
    const newer = await startProcess(closers, database, ports[1], next.main);
    assert.deepEqual(await versions(one.operatorUrl, operator.token), ['0.1.0', NEXT_VERSION]);
    await assertSideBySide(database, [one, newer], { client, core });
    await answersGoOn();

    // Back to N, which starts on the schema of N + 1.
    await newer.terminate();
    const again = await startProcess(closers, database, ports[1]);
    assert.deepEqual(await versions(again.operatorUrl, operator.token), ['0.1.0', '0.1.0']);
    await answersGoOn();
    const { requests, failures, fed } = await load.stop();
    context.diagnostic(`${requests} requests`);
    assert.deepEqual(failures, []);
    assert.equal(await countStored(database, fed), fed.length);
  });
});

const choosePorts = async (): Promise<ProcessPorts> => ({
  port: await findLastingPort(),
  operatorPort: await findLastingPort(),
});

async function startProcess(
  closers: AsyncDisposableStack,
  database: TestDatabase,
  ports: ProcessPorts,
  main?: string,
): Promise<ServeProcess> {
  const log = { stdout: 'pipe', environment: SETTINGS } as const;
  const started = await startServe({ ...log, database, ports, ...(main === undefined ? {} : { main }) });
  started.child.stdout?.resume();
  closers.defer(() => started.release());
  return started;
}

/** As `npm run migrate` of N + 1 does it, while the processes of N run. */
async function migrateTo({ connection }: TestDatabase, directory: URL): Promise<void> {
  const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  try {
    await migrate(database, { directory });
    assert.deepEqual(await readSchemaState(database), { kind: 'newer', unknown: [NEXT_MIGRATION] });
  } finally {
    await database.close();
  }
}

interface Clients {
  readonly client: TestClient;
  readonly core: TestClient;
}

/** Each release applies what the other one stored, and leaves alone what only N + 1 knows. */
async function assertSideBySide(
  { connection }: TestDatabase,
  [one, newer]: readonly [ServeProcess, ServeProcess],
  { client, core }: Clients,
): Promise<void> {
  const feed = async ({ operatorUrl }: ServeProcess, transactionId: string, status: string): Promise<void> => {
    const reason = status === 'FAILED' ? { failure_reason: 'ACCOUNT_BLOCKED' } : {};
    const update = statusUpdate({ transaction_id: transactionId, reference_id: transactionId, status, ...reason });
    const headers = { authorization: `Bearer ${core.token}`, 'content-type': 'application/json' };
    const url = `${operatorUrl}/feed/v1/transactions`;
    const answer = await send(url, { method: 'POST', headers, body: JSON.stringify(update) });
    assert.equal(answer.status, 200, answer.text);
  };
  const statusOf = async ({ url }: ServeProcess, transactionId: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${client.token}` };
    return (await send(`${url}/api/v1/check-status/${transactionId}`, { headers })).json.data?.['status'];
  };
  await feed(one, 'FROMN0000001', 'PROCESS');
  await feed(newer, 'FROMNEXT000001', 'PROCESS');
  const db = new pg.Client(connection);
  await db.connect();
  try {
    await db.query("update tiba.transactions set settlement_batch = 'B1' where transaction_id = 'FROMNEXT000001'");
    await feed(newer, 'FROMN0000001', 'SUCCESS');
    await feed(one, 'FROMNEXT000001', 'FAILED');
    for (const process of [one, newer]) {
      assert.equal(await statusOf(process, 'FROMN0000001'), 'SUCCESS');
      assert.equal(await statusOf(process, 'FROMNEXT000001'), 'FAILED');
    }
    const { rows } = await db.query(
      "select settlement_batch from tiba.transactions where transaction_id = 'FROMNEXT000001'",
    );
    assert.deepEqual(rows, [{ settlement_batch: 'B1' }]);
  } finally {
    await db.end();
  }
}

async function versions(operatorUrl: string, token: string): Promise<string[]> {
  const { json } = await send(`${operatorUrl}/operator/v1/processes`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const processes = (json.data ?? {})['processes'] as { readonly version: string }[];
  return processes.map(({ version }) => version).sort();
}

async function createClients({ connection }: TestDatabase, url: string): Promise<Clients & { operator: TestClient }> {
  const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  const create = async (clientId: string, scopes: readonly Scope[]): Promise<TestClient> => {
    const clientSecret = randomBytes(32).toString('base64url');
    await insertClient(database, {
      clientId,
      name: clientId,
      secretHash: hashSecret(clientSecret),
      scopes,
      limits: { 'check-status': PLENTY, 'check-account': PLENTY },
    });
    return { clientId, clientSecret, token: await logInWhenKnown(url, clientId, clientSecret) };
  };
  try {
    return {
      client: await create('alpha', CLIENT_SCOPES),
      core: await create('core', ['feed:write']),
      operator: await create('operator', ['operator:read']),
    };
  } finally {
    await database.close();
  }
}

/** Processes learn of a new client within a second. */
async function logInWhenKnown(url: string, clientId: string, secret: string): Promise<string> {
  let token: string | null = null;
  await eventually(`${clientId} can log in`, async () => {
    token = await logIn(url, clientId, secret).catch(() => null);
    return token !== null;
  });
  return token ?? '';
}

async function countStored({ connection }: TestDatabase, transactionIds: readonly string[]): Promise<number> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    const sql = 'select count(*)::int as count from tiba.transactions where transaction_id = any ($1)';
    return (await client.query<{ count: number }>(sql, [transactionIds])).rows[0]?.count ?? 0;
  } finally {
    await client.end();
  }
}
