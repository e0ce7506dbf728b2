import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, afterEach, before, beforeEach, suite, test } from 'node:test';
import { verifyCallback } from '../../packages/client/src/callbacks.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { type Cli, createCli, documentsOf, loginOf } from './cli-process.ts';

let service: TestService;
let cli: Cli;
let receiver: HttpReceiver;
before(async () => {
  service = await startTestService();
  // What happened before the first start is not news.
  await succeed('OLD', 3);
});
beforeEach(async () => {
  cli = await createCli(loginOf(service));
  receiver = await startHttpReceiver();
});
afterEach(async () => {
  await receiver.close();
  await cli.remove();
});
after(() => service?.close());

let next = 1;
/** Disbursements that have arrived: one event each. Resolves with their references. */
async function succeed(name: string, count: number): Promise<string[]> {
  const references = Array.from({ length: count }, (_, index) => `${name}/${index + 1}`);
  const updates = references.map((reference) => {
    next += 1;
    const transactionId = `TB${String(next).padStart(10, '0')}`;
    return statusUpdate({
      transaction_id: transactionId,
      reference_id: reference,
      status: 'SUCCESS',
      amount: '9007199254740993.01',
      processed_at: '2026-11-21T04:35:00.000Z',
    });
  });
  const { status } = await service.feed(updates);
  assert.equal(status, 200);
  return references;
}

const referencesOf = (): unknown[] =>
  receiver.requests.map(({ body }) => (JSON.parse(body) as { data: { reference_id: string } }).data.reference_id);

const LISTEN = ['listen', '--interval', '0.2'];
const CONNECTED = 'waiting for events after';

suite('tiba listen', () => {
  test('stopped while 200 events happen: all 200 arrive in order after it is back, each once, signed', async () => {
    const forward = [...LISTEN, '--forward-to', `${receiver.url}/tiba`];
    const secret = (await cli.run(['listen', '--print-secret'])).stdout.trim();
    const first = cli.start(forward);
    await first.untilNoted(CONNECTED);
    const before = await succeed('BEFORE', 2);
    await receiver.untilReceived(2);
    await first.untilNoted('forwarding to');
    assert.equal((await first.end('SIGINT')).code, 130);
    const away = await succeed('AWAY', 200);
    const second = cli.start(forward);
    await receiver.untilReceived(202);
    await second.untilNoted('going on after event 5');
    const last = await succeed('AFTER', 1);
    await receiver.untilReceived(203);
    await second.end('SIGTERM');
    assert.deepEqual(referencesOf(), [...before, ...away, ...last]);
    assert.equal(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size, 203);
    for (const { headers, body } of receiver.requests.slice(0, 3)) {
      const { id, callback } = await verifyCallback(headers, body, secret);
      assert.equal(id, headers['webhook-id']);
      assert.equal('amount' in callback.data && callback.data.amount, '9007199254740993.01');
    }
  });

  test('begins with what happens after its first start, and a terminal has its own place', async () => {
    const listening = cli.start([...LISTEN, '--json']);
    await listening.untilNoted(CONNECTED);
    const [reference] = await succeed('NEW', 1);
    const forwarding = cli.start([...LISTEN, '--forward-to', receiver.url]);
    await forwarding.untilNoted(CONNECTED);
    await succeed('BOTH', 1);
    await receiver.untilReceived(1);
    await forwarding.end('SIGTERM');
    assert.deepEqual(referencesOf(), ['BOTH/1']);
    await listening.untilPrinted('BOTH/1');
    const { stdout } = await listening.end('SIGTERM');
    const references = documentsOf({ stdout }).map(({ data }) => (data as { reference_id: string }).reference_id);
    assert.deepEqual(references, [reference, 'BOTH/1']);
  });

  test('a receiver that fails gets the event again before the next one, and is told of', async () => {
    let failures = 2;
    receiver.respond = (response) => {
      failures -= 1;
      response.writeHead(failures >= 0 ? 500 : 204).end();
    };
    const listening = cli.start([...LISTEN, '--forward-to', receiver.url]);
    await listening.untilNoted(CONNECTED);
    await succeed('RETRY', 2);
    await receiver.untilReceived(4);
    assert.deepEqual(referencesOf(), ['RETRY/1', 'RETRY/1', 'RETRY/1', 'RETRY/2']);
    assert.match(listening.stderr(), /RETRY\/1 \(event \d+\): .* HTTP 500; sending it again in 1 s/);
    await listening.end('SIGTERM');
  });

  test('killed while the receiver has not accepted an event: it is sent again', async () => {
    receiver.respond = () => undefined;
    const forward = [...LISTEN, '--forward-to', receiver.url];
    const killed = cli.start(forward);
    await killed.untilNoted(CONNECTED);
    await succeed('KILL', 1);
    await receiver.untilReceived(1);
    await killed.end('SIGKILL');
    receiver.respond = (response) => response.writeHead(204).end();
    const again = cli.start(forward);
    await receiver.untilReceived(2);
    await again.end('SIGTERM');
    assert.deepEqual(referencesOf(), ['KILL/1', 'KILL/1']);
  });

  test('says that it is not connected, says when it is again, and loses nothing', async () => {
    const servicePort = Number(new URL(service.url).port);
    let proxy = await startTcpProxy(servicePort);
    const own = await createCli({ ...loginOf(service), TIBA_URL: `http://127.0.0.1:${proxy.port}` });
    try {
      const listening = own.start([...LISTEN, '--forward-to', receiver.url]);
      await listening.untilNoted(CONNECTED);
      await proxy.close();
      await listening.untilNoted('not connected: CONNECTION_FAILED');
      assert.equal(listening.stderr().split('not connected').length, 2);
      const references = await succeed('OUTAGE', 3);
      proxy = await startTcpProxy(servicePort, proxy.port);
      await listening.untilNoted('connected again after');
      await receiver.untilReceived(3);
      assert.deepEqual(referencesOf(), references);
      await listening.end('SIGTERM');
    } finally {
      await own.remove();
      await proxy.close();
    }
  });

  test('a service that has lost the events is told of and not skipped; --after goes on', async () => {
    const listening = cli.start(LISTEN);
    await listening.untilNoted(CONNECTED);
    await succeed('LOST', 1);
    await listening.untilPrinted('LOST/1');
    await listening.end('SIGTERM');
    const folder = path.join(cli.home, 'state/tiba/listen');
    const [name = ''] = await readdir(folder);
    const file = path.join(folder, name);
    const stored = JSON.parse(await readFile(file, 'utf8')) as { sequence: number; event_id: string };
    // As after a restore: the service does not know the event that was read last.
    await writeFile(file, JSON.stringify({ ...stored, sequence: stored.sequence + 10 }));
    const { code, stderr } = await cli.run(LISTEN);
    assert.equal(code, 1);
    assert.match(stderr, /EVENTS_RESTORED: the service no longer has the event of the cursor/);
    assert.match(stderr, new RegExp(`Continue with after=${stored.sequence}`));
    assert.match(stderr, /run the command again with --after and the number of that event/);
    const goesOn = cli.start([...LISTEN, '--after', String(stored.sequence - 1), '--json']);
    await goesOn.untilPrinted('LOST/1');
    await goesOn.end('SIGTERM');
  });

  test('an event whose reader is gone is printed by the next start, also of another profile', async () => {
    const { TIBA_URL: url = '', TIBA_CLIENT_ID: id = '', TIBA_CLIENT_SECRET: secret = '' } = cli.environment;
    const unread = cli.start([...LISTEN, '--json']);
    await unread.untilNoted(CONNECTED);
    unread.child.stdout?.destroy();
    await succeed('UNREAD', 1);
    assert.equal((await unread.end()).code, 1);
    const login = ['login', '--profile', 'other', '--url', url, '--client-id', id, '--secret-stdin'];
    assert.equal((await cli.run(login, secret)).code, 0);
    const again = cli.start([...LISTEN, '--json', '--profile', 'other']);
    await again.untilPrinted('UNREAD/1');
    await again.end('SIGTERM');
  });

  test('--from-start is remembered before the first event is accepted; a damaged place is not skipped', async () => {
    receiver.respond = (response) => response.writeHead(500).end();
    const forward = [...LISTEN, '--forward-to', receiver.url];
    const first = cli.start([...forward, '--from-start']);
    await receiver.untilReceived(1);
    await first.end('SIGKILL');
    receiver.respond = (response) => response.writeHead(204).end();
    const second = cli.start(forward);
    await second.untilNoted('going on with the first event');
    await receiver.untilReceived(3);
    await second.end('SIGTERM');
    assert.deepEqual(new Set(referencesOf().slice(0, 3)), new Set(['OLD/1', 'OLD/2']));
    const folder = path.join(cli.home, 'state/tiba/listen');
    const [name = ''] = await readdir(folder);
    await writeFile(path.join(folder, name), '');
    const damaged = await cli.run(forward);
    assert.equal(damaged.code, 1);
    assert.match(damaged.stderr, /is damaged: .*\nStart with --after and the last event that you have processed/);
  });
});
