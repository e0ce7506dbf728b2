import assert from 'node:assert/strict';
import { afterEach, suite, test } from 'node:test';
import {
  assertOkOrUnavailable,
  assertRecovers,
  assertUnavailable,
  FAST_FAILURE_WITHIN_MS,
  probeStatus,
  requestContinuously,
  timeRequest,
  until,
} from './request-monitor.ts';
import { startServiceOnPostgres } from './service-on-postgres.ts';

const { server, service, checkStatus, feedTransaction } = await startServiceOnPostgres();
afterEach(async () => {
  // A failed test may have left the server stopped.
  await server.start();
  assert.equal((await checkStatus()).status, 200);
  assert.deepEqual(
    service.logged.filter(({ level }) => level === ERROR),
    [],
    'an unavailable PostgreSQL is logged as a warning, not as an error',
  );
});

const ERROR = 50;
const WARNING = 40;

/** They run each second, and every two seconds. */
const LOOPS = ['publishing bank availability failed; will retry', 'marking overdue transactions failed; will retry'];

/** The loops that have failed and not worked since, as the log says. */
function failingLoops(): Set<unknown> {
  const failing = new Set<unknown>();
  for (const { level, msg, warning } of service.logged) {
    if (level === WARNING && String(msg).endsWith('failed; will retry')) failing.add(msg);
    if (msg === 'works again') failing.delete(warning);
  }
  return failing;
}

suite('when PostgreSQL restarts or loses connections', () => {
  /** Regression: tiba_ready was 0 on a healthy process until the first request to /readyz. */
  test('tiba_ready shows the current state, without requests to /readyz', async () => {
    const ready = async (): Promise<string | undefined> =>
      /^tiba_ready (\d)$/m.exec(await (await fetch(`${service.operatorUrl}/metrics`)).text())?.[1];
    assert.equal(await ready(), '1');
    await server.stop();
    await until('the fault is detected', async () => (await ready()) === '0');
    await server.start();
    await until('the service is ready', async () => (await ready()) === '1');
  });

  test('a restart under load: every response meanwhile is 503, and requests work again at once', async (t) => {
    const requests = requestContinuously(t, checkStatus);
    await server.stop();
    // Both requests with a connection and requests that have to open one fail.
    await until('the fault is detected', async () => (await probeStatus(service, '/readyz')) === 503);
    assert.equal(await probeStatus(service, '/livez'), 200);
    assertUnavailable(await timeRequest(() => feedTransaction('TB0000000002')));
    await server.start();
    await assertRecovers(checkStatus);
    await until('the service is ready', async () => (await probeStatus(service, '/readyz')) === 200);
    const { unavailable } = assertOkOrUnavailable(await requests.stop());
    assert.ok(unavailable > 0, 'no response was 503');
    const fed = await feedTransaction('TB0000000002');
    assert.deepEqual([fed.status, fed.json.data?.['inserted']], [200, 1]);
  });

  /** Regression: each line had the stack of an error that is no defect, and none said that the loop works again. */
  test('each loop logs the outage once, without a stack, and then that it works again', async () => {
    await until('the loops work after the test before', async () => failingLoops().size === 0);
    const before = service.logged.length;
    await server.stop();
    await until('a loop of each interval has failed', async () => failingLoops().isSupersetOf(new Set(LOOPS)));
    await server.start();
    await until('all loops work again', async () => failingLoops().size === 0);
    const logged = service.logged.slice(before);
    for (const loop of LOOPS) assert.equal(logged.filter(({ msg }) => msg === loop).length, 1, loop);
    assert.ok(!JSON.stringify(logged).includes('"stack"'));
  });

  test('a request long after PostgreSQL stopped gets 503 at once, not after a deadline', async () => {
    await server.stop();
    await until('the fault is detected', async () => (await probeStatus(service, '/readyz')) === 503);
    const timed = await timeRequest(checkStatus);
    assertUnavailable(timed);
    assert.ok(timed.tookMs < FAST_FAILURE_WITHIN_MS, `${timed.tookMs} ms`);
    await server.start();
    await assertRecovers(checkStatus);
  });

  test('all connections terminated (pg_terminate_backend): responses are 200 or 503, and 200 within 2 s', async (t) => {
    const requests = requestContinuously(t, checkStatus);
    for (let round = 0; round < 3; round += 1) {
      await server.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'tiba%'");
      await assertRecovers(checkStatus);
    }
    assertOkOrUnavailable(await requests.stop());
  });

  test('one server process killed with SIGKILL: all connections are lost, responses are 200 or 503', async (t) => {
    const requests = requestContinuously(t, checkStatus);
    const [victim] = await server.query<{ pid: number }>(
      "select pid from pg_stat_activity where application_name = 'tiba' limit 1",
    );
    assert.ok(victim !== undefined);
    process.kill(victim.pid, 'SIGKILL');
    await until(
      'PostgreSQL accepts connections again',
      async () =>
        server.query('select').then(
          () => true,
          () => false,
        ),
      20_000,
    );
    await assertRecovers(checkStatus);
    assertOkOrUnavailable(await requests.stop());
  });
});
