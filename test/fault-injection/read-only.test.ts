import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { startTestService } from '../support/service.ts';
import {
  assertOkOrUnavailable,
  assertRecovers,
  assertUnavailable,
  requestContinuously,
  timeRequest,
  until,
} from './request-monitor.ts';
import { startServiceOnPostgres } from './service-on-postgres.ts';

const { server, service, checkStatus, feedTransaction } = await startServiceOnPostgres();
const ids = Array.from({ length: 1_000 }, (_, index) => `TR${String(index).padStart(10, '0')}`).values();

/** The readiness probe: its HTTP status and its answer. */
async function readiness(operatorUrl = service.operatorUrl): Promise<{ status: number; answer: unknown }> {
  const response = await fetch(`${operatorUrl}/readyz`);
  const { status, checks } = (await response.json()) as { status: string; checks: Record<string, string> };
  const { service: process, postgres, postgres_writes } = checks;
  return { status: response.status, answer: { status, checks: { service: process, postgres, postgres_writes } } };
}

const READY = {
  status: 200,
  answer: { status: 'ok', checks: { service: 'ok', postgres: 'ok', postgres_writes: 'ok' } },
};
const READ_ONLY = { service: 'ok', postgres: 'ok', postgres_writes: 'PostgreSQL is read-only' };

const untilReady = (operatorUrl: string): Promise<void> =>
  until(`${operatorUrl} is ready`, async () => isDeepStrictEqual(await readiness(operatorUrl), READY));

async function setReadOnly(readOnly: boolean): Promise<void> {
  await server.query(`alter system set default_transaction_read_only = ${readOnly ? 'on' : 'off'}`);
  await server.query('select pg_reload_conf()');
  const expected = readOnly ? 'on' : 'off';
  await until('new connections see the setting', async () => {
    const [row] = await server.query<{ value: string }>("select current_setting('transaction_read_only') as value");
    return row?.value === expected;
  });
}

test('while PostgreSQL is read-only, look-ups work and feeds get 503; both recover without a restart', async (t) => {
  const requests = requestContinuously(t, checkStatus, 4);
  await setReadOnly(true);
  // An open connection applies the setting with one of its next statements.
  await until('feeds get 503', async () => (await feedTransaction(ids.next().value ?? '')).status === 503);
  for (let round = 0; round < 5; round += 1)
    assertUnavailable(await timeRequest(() => feedTransaction('TB0000000002')));
  assert.equal((await service.get('/api/v1/check-status/TB0000000002')).status, 404);
  assert.equal((await checkStatus()).status, 200);

  await setReadOnly(false);
  await assertRecovers(() => feedTransaction('TB0000000002'));
  assert.equal((await service.get('/api/v1/check-status/TB0000000002')).status, 200);
  assertOkOrUnavailable(await requests.stop());
});

// The probe said 200 and `ok` while every write got 503.
test('while PostgreSQL is read-only, /readyz says degraded, or 503 if the operator chose so', async () => {
  const strict = await startTestService({
    rails: [],
    database: server.database,
    settings: { readyWhenReadOnly: false },
  });
  try {
    await untilReady(service.operatorUrl);
    await untilReady(strict.operatorUrl);
    await setReadOnly(true);
    await until('the fault is detected', async () => (await readiness(strict.operatorUrl)).status === 503);
    assert.deepEqual(await readiness(strict.operatorUrl), {
      status: 503,
      answer: { status: 'unavailable', checks: READ_ONLY },
    });
    await until('both have detected it', async () => !isDeepStrictEqual(await readiness(), READY));
    assert.deepEqual(await readiness(), { status: 200, answer: { status: 'degraded', checks: READ_ONLY } });
    assert.match(await (await fetch(`${service.operatorUrl}/metrics`)).text(), /^tiba_ready 1$[^]*^tiba_degraded 1$/m);
    await setReadOnly(false);
    await untilReady(service.operatorUrl);
    await untilReady(strict.operatorUrl);
  } finally {
    await setReadOnly(false);
    await strict.close();
  }
});
