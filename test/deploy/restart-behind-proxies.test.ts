import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { findLastingPort } from '../../campaign/random/ports.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { commandIsMissing } from '../support/required-command.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { type ProcessPorts, startConnectionBalancer } from './haproxy.ts';
import { startLoad } from './load.ts';
import { startNginx } from './nginx.ts';
import type { RunningProxy } from './running-proxy.ts';

/** How a service stops, behind proxies that learn of it in different ways. HAProxy itself: rolling-upgrade.test.ts. */

test(
  'behind nginx with the shipped configuration, which learns of a stop only from a refused connection',
  {
    skip: commandIsMissing('nginx'),
  },
  (context) => restartUnderLoad(context, startNginx, 3),
);

test(
  'behind a balancer of connections, as a Service of Kubernetes is',
  { skip: commandIsMissing('haproxy') },
  (context) => restartUnderLoad(context, startConnectionBalancer, 1),
);

suite('a service that stops', () => {
  test('closes the connection with each answer, and tells waiting clients to come back soon', async (context) => {
    const service = await startTestService({ rails: [], settings: { stopDelaySeconds: 1 } });
    context.after(() => service.close());
    await service.feed(statusUpdate());
    const path = '/api/v1/check-status/TB0000000001';
    const waiting = service.get(path, { headers: { prefer: 'wait=30' } });
    const streaming = service.get(path, { headers: { accept: 'text/event-stream' } });
    await eventually('both wait', () => service.app.longPollCount() === 2);
    assert.equal((await service.get(path)).headers.get('connection'), 'keep-alive');

    const closing = service.app.close();
    const during = await service.get(path);
    assert.deepEqual([during.status, during.headers.get('connection')], [200, 'close']);
    const waited = await waiting;
    assert.deepEqual([waited.status, waited.json.data?.['status']], [200, 'PROCESS']);
    assert.equal(waited.headers.get('retry-after'), '1');
    assert.match((await streaming).text, /event: status\n[^]*\n: this process stops; connect again\nretry: \d+\n\n$/);
    await closing;
  });
});

async function restartUnderLoad(
  context: TestContext,
  startBalancer: (processes: readonly ProcessPorts[]) => Promise<RunningProxy>,
  stopDelaySeconds: number,
): Promise<void> {
  await using closers = new AsyncDisposableStack();
  const database = await createTestDatabase();
  closers.defer(() => database.drop());
  const ports = [await choosePorts(), await choosePorts()] as const;
  const one = await start(closers, database, { ...ports[0], stopDelaySeconds });
  const other = await start(closers, database, { ...ports[1], stopDelaySeconds });
  const proxy = await startBalancer(ports);
  closers.defer(() => proxy.stop());
  const load = startLoad({ url: proxy.url, coreUrl: proxy.coreUrl, client: one.alpha, coreToken: one.core.token });
  closers.defer(async () => void (await load.stop()));
  const answersGoOn = async (): Promise<void> => {
    const before = load.answered();
    await eventually('requests are answered', () => load.answered() > before + 100);
  };
  await answersGoOn();
  await other.app.close();
  await answersGoOn();
  await start(closers, database, { ...ports[1], stopDelaySeconds });
  await answersGoOn();
  await one.app.close();
  await answersGoOn();
  const { requests, failures } = await load.stop();
  context.diagnostic(`${requests} requests`);
  assert.deepEqual(failures, []);
}

const choosePorts = async (): Promise<ProcessPorts> => ({
  port: await findLastingPort(),
  operatorPort: await findLastingPort(),
});

async function start(
  closers: AsyncDisposableStack,
  database: TestDatabase,
  ports: ProcessPorts & { readonly stopDelaySeconds: number },
): Promise<TestService> {
  // One issuer and audience of tokens for both.
  const publicUrl = 'https://api.example.com';
  const trusted = { trustedProxies: ['127.0.0.1'], operatorTrustedProxies: ['127.0.0.1'] };
  const settings = { ...ports, ...trusted, publicUrl };
  const service = await startTestService({ rails: [], database, settings });
  closers.defer(() => service.close());
  return service;
}
