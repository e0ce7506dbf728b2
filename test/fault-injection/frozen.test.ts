import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { startTestService, type TestService, word } from '../support/service.ts';
import { bound } from '../support/suite-environment.ts';
import { type PostgresServer, startPostgresServer } from './postgres-server.ts';
import {
  assertRecovers,
  assertRightOrUnavailable,
  assertUnavailable,
  FAST_FAILURE_WITHIN_MS,
  probeStatus,
  requestContinuously,
  timeRequest,
  until,
} from './request-monitor.ts';

const openSockets = (): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === 'PipeWrap' || resource === 'TCPSocketWrap').length;

/** It says goodbye on several connections, one after the other, and gives each two seconds. */
const STOPPED_WITHIN_MS = bound(15_000);

let server: PostgresServer;
let service: TestService;
const ask = () => service.get('/api/v1/check-status/TB0000000001');

before(async () => {
  server = await startPostgresServer();
  service = await startTestService({ rails: [], database: server.database });
  assert.equal((await service.feed(word())).status, 200);
});
after(async () => {
  server?.resume();
  await service?.close();
  await server?.remove();
});
afterEach(() => server.resume());

/** Until 503 is the answer of every door, whose own deadlines the first requests have met. */
const noticed = () => until('it is noticed', async () => (await probeStatus(service, '/readyz')) === 503);

suite('PostgreSQL is frozen: its connections stand, and nobody answers', () => {
  test('who has to connect first gets 503 within the deadline', async () => {
    // The first look-up of this file: look-ups have no connection yet.
    await server.freeze();
    assertUnavailable(await timeRequest(ask));
    server.resume();
    await assertRecovers(ask);
  });

  test('who has a connection gets 503 within the deadline, a feed too', async () => {
    assert.equal((await ask()).status, 200);
    await server.freeze();
    const [one, other, fed] = await Promise.all([
      timeRequest(ask),
      timeRequest(() => service.get('/api/v1/check-status?reference_id=INV%2F2026%2F001')),
      timeRequest(() => service.feed(word({ transaction_id: 'TB0000000002', reference_id: '2' }))),
    ]);
    for (const observed of [one, other, fed]) assertUnavailable(observed);
    server.resume();
    await assertRecovers(ask);
    const answer = await service.feed(word({ transaction_id: 'TB0000000002', reference_id: '2' }));
    assert.deepEqual([answer.status, answer.json.data?.['inserted']], [200, 1], 'what was given up was not stored');
  });

  test('under load: 503 for all, the process lives and is not ready, and 2 s after the thaw all is well', async (t) => {
    const asking = requestContinuously(t, ask, 20);
    await server.freeze();
    await noticed();
    assert.equal(await probeStatus(service, '/livez'), 200);
    const observed = await timeRequest(ask);
    assertUnavailable(observed);
    assert.ok(observed.tookMs < FAST_FAILURE_WITHIN_MS, `${observed.tookMs} ms, though it is known`);
    server.resume();
    await assertRecovers(ask);
    await until('it is ready', async () => (await probeStatus(service, '/readyz')) === 200, 2_000);
    const { unavailable } = assertRightOrUnavailable(await asking.stop());
    assert.ok(unavailable > 0);
  });

  test('a process that is told to stop does not wait for it', async () => {
    const openBefore = openSockets();
    const stopped = await startTestService({ rails: [], database: server.database });
    assert.equal((await stopped.get('/api/v1/check-status/TB0000000001')).status, 200);
    await server.freeze();
    const startedMs = performance.now();
    await stopped.close();
    assert.ok(performance.now() - startedMs < STOPPED_WITHIN_MS);
    // An open connection would keep the process from ending.
    await until('no connection is left', async () => openSockets() <= openBefore, STOPPED_WITHIN_MS);
  });
});
