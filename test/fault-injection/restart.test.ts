import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { startTestService, type TestService, word } from '../support/service.ts';
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

let server: PostgresServer;
let service: TestService;
const ask = () => service.get('/api/v1/check-status/TB0000000001');

before(async () => {
  server = await startPostgresServer();
  service = await startTestService({ rails: [], database: server.database });
  assert.equal((await service.feed(word())).status, 200);
});
after(async () => {
  await service?.close();
  await server?.remove();
});
afterEach(async () => {
  // A test that failed may have left it stopped.
  await server.start();
  assert.equal((await ask()).status, 200);
  assert.deepEqual(
    service.logged.filter(({ level }) => level === ERROR),
    [],
    'the weather is no fault of the service',
  );
});

const ERROR = 50;

suite('PostgreSQL', () => {
  /** Regression: tiba_ready was 0 on a healthy process until somebody asked /readyz. */
  test('is told of by tiba_ready as it is now, though nobody asks /readyz', async () => {
    const ready = async (): Promise<string | undefined> =>
      /^tiba_ready (\d)$/m.exec(await (await fetch(`${service.operatorUrl}/metrics`)).text())?.[1];
    assert.equal(await ready(), '1');
    await server.stop();
    await until('it is noticed', async () => (await ready()) === '0');
    await server.start();
    await until('it is ready', async () => (await ready()) === '1');
  });

  test('restarted under load: nothing but 503 meanwhile, and it is answered again at once', async (t) => {
    const asking = requestContinuously(t, ask);
    await server.stop();
    // Both what has a connection and what has to make one meets the closed door.
    await until('it is noticed', async () => (await probeStatus(service, '/readyz')) === 503);
    assert.equal(await probeStatus(service, '/livez'), 200);
    assertUnavailable(
      await timeRequest(() => service.feed(word({ transaction_id: 'TB0000000002', reference_id: '2' }))),
    );
    await server.start();
    await assertRecovers(ask);
    await until('it is ready', async () => (await probeStatus(service, '/readyz')) === 200);
    const { unavailable } = assertRightOrUnavailable(await asking.stop());
    assert.ok(unavailable > 0, 'the outage was never seen');
    const fed = await service.feed(word({ transaction_id: 'TB0000000002', reference_id: '2' }));
    assert.deepEqual([fed.status, fed.json.data?.['inserted']], [200, 1]);
  });

  test('gone for a while before anybody asks: 503 at once, not after a deadline', async () => {
    await server.stop();
    await until('it is noticed', async () => (await probeStatus(service, '/readyz')) === 503);
    const observed = await timeRequest(ask);
    assertUnavailable(observed);
    assert.ok(observed.tookMs < FAST_FAILURE_WITHIN_MS, `${observed.tookMs} ms`);
    await server.start();
    await assertRecovers(ask);
  });

  test('ends all connections (pg_terminate_backend): right answers or 503, and within 2 s right ones', async (t) => {
    const asking = requestContinuously(t, ask);
    for (let round = 0; round < 3; round += 1) {
      await server.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'tiba%'");
      await assertRecovers(ask);
    }
    assertRightOrUnavailable(await asking.stop());
  });

  test('loses one process to kill -9, and with it all connections: the same', async (t) => {
    const asking = requestContinuously(t, ask);
    const [victim] = await server.query<{ pid: number }>(
      "select pid from pg_stat_activity where application_name = 'tiba' limit 1",
    );
    assert.ok(victim !== undefined);
    process.kill(victim.pid, 'SIGKILL');
    await until(
      'it is up again',
      async () =>
        server.query('select').then(
          () => true,
          () => false,
        ),
      20_000,
    );
    await assertRecovers(ask);
    assertRightOrUnavailable(await asking.stop());
  });
});
