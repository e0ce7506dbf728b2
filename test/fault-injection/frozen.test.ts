import assert from 'node:assert/strict';
import { afterEach, suite, test } from 'node:test';
import { startTestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import {
  assertOkOrUnavailable,
  assertRecovers,
  assertUnavailable,
  FAST_FAILURE_WITHIN_MS,
  probeStatus,
  RECOVERED_WITHIN_MS,
  requestContinuously,
  timeRequest,
  until,
} from './request-monitor.ts';
import { startServiceOnPostgres } from './service-on-postgres.ts';

const openSockets = (): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === 'PipeWrap' || resource === 'TCPSocketWrap').length;

/** The service closes several pools, one after the other, and waits two seconds for each. */
const STOPPED_WITHIN_MS = timeLimitMs(15_000);

const { server, service, checkStatus, feedTransaction } = await startServiceOnPostgres();
afterEach(() => server.resume());

/** Until every operation answers 503 at once; the first requests wait for their own deadlines. */
const untilDetected = () => until('the fault is detected', async () => (await probeStatus(service, '/readyz')) === 503);

suite('while PostgreSQL is frozen: connections stay open, and nothing answers', () => {
  test('a request that has to open a connection first gets 503 within the deadline', async () => {
    // The first look-up of this file: the pool of look-ups has no connection yet.
    await server.freeze();
    assertUnavailable(await timeRequest(checkStatus));
    server.resume();
    await assertRecovers(checkStatus);
  });

  test('a request with a connection gets 503 within the deadline, and so does a feed', async () => {
    assert.equal((await checkStatus()).status, 200);
    await server.freeze();
    const [one, other, fed] = await Promise.all([
      timeRequest(checkStatus),
      timeRequest(() => service.get('/api/v1/check-status?reference_id=INV%2F2026%2F001')),
      timeRequest(() => feedTransaction('TB0000000002')),
    ]);
    for (const timed of [one, other, fed]) assertUnavailable(timed);
    server.resume();
    await assertRecovers(checkStatus);
    const answer = await feedTransaction('TB0000000002');
    assert.deepEqual([answer.status, answer.json.data?.['inserted']], [200, 1], 'the feed that got 503 was not stored');
  });

  test('under load, every request gets 503, the process is live but not ready, and recovers within 2 s', async (t) => {
    const requests = requestContinuously(t, checkStatus, 20);
    await server.freeze();
    await untilDetected();
    assert.equal(await probeStatus(service, '/livez'), 200);
    const timed = await timeRequest(checkStatus);
    assertUnavailable(timed);
    assert.ok(timed.tookMs < FAST_FAILURE_WITHIN_MS, `${timed.tookMs} ms, although the fault was detected`);
    server.resume();
    await assertRecovers(checkStatus);
    await until(
      'the service is ready',
      async () => (await probeStatus(service, '/readyz')) === 200,
      RECOVERED_WITHIN_MS,
    );
    const { unavailable } = assertOkOrUnavailable(await requests.stop());
    assert.ok(unavailable > 0);
  });

  // Regression: /readyz said `postgres_writes: ok`, as before the outage.
  test('/readyz says that PostgreSQL does not answer, and that writes are not known', async () => {
    await server.freeze();
    await untilDetected();
    const response = await fetch(`${service.operatorUrl}/readyz`);
    const { checks } = (await response.json()) as { checks: Record<string, string> };
    assert.equal(checks['postgres'], 'PostgreSQL does not answer');
    assert.equal(checks['postgres_writes'], 'not known: PostgreSQL does not answer');
  });

  test('stopping the service does not wait for PostgreSQL', async () => {
    const openBefore = openSockets();
    const stopped = await startTestService({ rails: [], database: server.database });
    assert.equal((await stopped.get('/api/v1/check-status/TB0000000001')).status, 200);
    await server.freeze();
    const startedMs = performance.now();
    await stopped.close();
    assert.ok(performance.now() - startedMs < STOPPED_WITHIN_MS);
    // An open connection would keep the process alive.
    await until('no connection is left', async () => openSockets() <= openBefore, STOPPED_WITHIN_MS);
  });
});
