import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { type TestDirectory, useTestDirectory } from '../embedded-postgres/harness.ts';
import { type Answer, send, statusUpdate } from '../support/requests.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { assertAllStopped, assertFailedStart } from './assertions.ts';
import { dataDirectoryOf, type NpmProcess, startNpm } from './npm-process.ts';
import { findFreePort, portOf, writeProductionSettings } from './production-settings.ts';

/** A bank that accepts connections and never sends a byte, not even of TLS. */
async function startSilentBank() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    port: portOf(server),
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** The service's log lines so far. */
const logOf = (npm: NpmProcess): Record<string, unknown>[] =>
  npm
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));

/** Creates a client with `npm run manage`; returns an access token of it. */
async function createClient(testDirectory: TestDirectory, url: string, id: string, scope: string): Promise<string> {
  const manage = startNpm(testDirectory, ['run', '--silent', 'manage', '--', 'client', 'create', id, '--scope', scope]);
  assert.equal(await manage.exited, 0, manage.stderr());
  const secret = /client_secret\s+(\S+)/.exec(manage.stdout())?.[1] ?? '';
  const { text } = await send(`${url}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return JSON.parse(text).access_token;
}

async function assertNoDemoData(service: NpmProcess, url: string): Promise<void> {
  assert.doesNotMatch(service.stdout(), /demo-/);
  const { status } = await send(`${url}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from('demo-shop:x').toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  assert.equal(status, 401);
}

/** The log has one warning, which names this variable only. */
function assertUnknown(service: NpmProcess, name: string): void {
  const warnings = logOf(service).filter(({ msg }) => msg === 'variables that are no settings are ignored');
  const names = warnings.map(({ variables }) => (variables as string[]).map((each) => each.split(':', 1)[0]));
  assert.deepEqual(names, [[name]]);
}

const checkAccount = (url: string, token: string): Promise<Answer> =>
  send(`${url}/api/v1/check-account`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ bank_code: 'BCA', account_number: '1234567890' }),
  });

test('npm run serve, with a real configuration and the embedded PostgreSQL', async (t) => {
  const testDirectory = await useTestDirectory(t);
  const bank = await startSilentBank();
  t.after(() => bank.close());
  const port = await findFreePort();
  const environment = await writeProductionSettings(dataDirectoryOf(testDirectory), bank.port);
  const settings = { ...environment, TIBA_PORT: String(port), TIBA_EVENTS_DAYS: '60' };
  const service = startNpm(testDirectory, ['run', 'serve'], settings);
  await service.untilOutput('"ready"');
  const url = `http://127.0.0.1:${port}`;
  const operatorUrl = String(logOf(service).find(({ msg }) => msg === 'ready')?.['operatorUrl']);

  const shop = await createClient(testDirectory, url, 'shop', 'status:read account:check');
  const core = await createClient(testDirectory, url, 'core', 'feed:write');

  await t.test('serves health and metrics on the operator listener only', async () => {
    for (const page of ['/livez', '/readyz']) assert.equal((await send(operatorUrl + page, {})).status, 200, page);
    assert.match((await send(`${operatorUrl}/metrics`, {})).text, /^tiba_http_requests_total/m);
    for (const page of ['/livez', '/readyz', '/metrics']) {
      assert.equal((await send(url + page, {})).status, 404, page);
    }
  });

  await t.test('accepts a transaction from the feed and returns its status', async () => {
    const fed = await send(`${operatorUrl}/feed/v1/transactions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${core}`, 'content-type': 'application/json' },
      body: JSON.stringify([statusUpdate({ client_id: 'shop' })]),
    });
    assert.equal(fed.status, 200, fed.text);
    const { status, json } = await send(`${url}/api/v1/check-status/TB0000000001`, {
      headers: { authorization: `Bearer ${shop}` },
    });
    assert.equal(status, 200);
    assert.equal(json.data?.['status'], 'PROCESS');
  });

  await t.test('warns of a variable that is no setting', () => assertUnknown(service, 'TIBA_EVENTS_DAYS'));
  await t.test('has no demo data', () => assertNoDemoData(service, url));

  await t.test('answers requests in flight at SIGTERM, then stops completely with exit code 0', async () => {
    const processes = await service.processTree();
    const connected = once(bank.server, 'connection');
    const inFlight = checkAccount(url, shop);
    await connected;
    service.signal('SIGTERM');
    const { status, json } = await inFlight;
    assert.equal(status, 503);
    assert.equal(json.error_code, 'SERVICE_UNAVAILABLE');
    const answeredMs = performance.now();
    assert.equal(await service.exited, 0);
    assert.ok(performance.now() - answeredMs < timeLimitMs(5_000), 'it does not wait for keep-alive connections');
    await assertAllStopped(testDirectory, processes);
    assert.ok(logOf(service).some(({ msg, signal }) => msg === 'stopping' && signal === 'SIGTERM'));
    // Regression: the log of a process that stopped in good order ended like that of one that was killed.
    assert.equal(logOf(service).at(-1)?.['msg'], 'stopped');
    assert.doesNotMatch(service.stdout() + service.stderr(), /123456789/);
  });

  await t.test('does not let the sandbox use its database', async () => {
    const reason = /this database belongs to a production installation, and this is sandbox: use another/;
    await assertFailedStart(testDirectory, ['start'], {}, reason);
    await assertAllStopped(testDirectory, []);
  });
});
