import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { feedChange, makeTransaction, until } from './changing.ts';

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const wait = (path: string, seconds: number | string, token?: string): Promise<Answer> =>
  service.get(path, { headers: { prefer: `wait=${seconds}` }, ...(token === undefined ? {} : { token }) });

/** A change that comes only when the request is waiting. */
async function whileWaiting(waiting: number, act: () => Promise<void>): Promise<void> {
  await until(() => service.app.longPollCount() >= waiting, `${waiting} waiting`);
  await act();
}

suite('Prefer: wait', () => {
  for (const form of ['path', 'referencePath'] as const) {
    test(`answers at the moment the status is final, asked by ${form}`, async () => {
      const made = await makeTransaction(service);
      const asked = wait(made[form], 30);
      await whileWaiting(1, () => feedChange(service, made, { status: 'SUCCESS' }));
      const answer = await asked;
      assert.equal(answer.status, 200);
      assert.equal(answer.json.data?.['status'], 'SUCCESS');
      assert.equal(answer.headers.get('preference-applied'), 'wait=30');
      assert.equal(answer.headers.get('etag'), (await service.get(made.path)).headers.get('etag'));
      assert.equal(answer.headers.get('retry-after'), null);
    });
  }

  test('answers after so many seconds with what is known', async () => {
    const made = await makeTransaction(service);
    const startedMs = performance.now();
    const answer = await wait(made.path, 1);
    const tookMs = performance.now() - startedMs;
    assert.ok(tookMs >= 990 && tookMs < timeLimitMs(3_000), `${tookMs} ms`);
    assert.equal(answer.json.data?.['status'], 'PROCESS');
    assert.equal(answer.headers.get('preference-applied'), 'wait=1');
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
  });

  test('answers at once when the status is final already', async () => {
    const made = await makeTransaction(service, { status: 'SUCCESS' });
    const answer = await wait(made.path, 30);
    assert.equal(answer.json.data?.['status'], 'SUCCESS');
    assert.equal(answer.headers.get('preference-applied'), 'wait=30');
  });

  test('is capped at 60 seconds, and says so', async () => {
    const made = await makeTransaction(service, { status: 'SUCCESS' });
    assert.equal((await wait(made.path, 3600)).headers.get('preference-applied'), 'wait=60');
  });

  for (const [prefer, applied] of [
    ['respond-async, wait=0', 'wait=0'],
    ['wait="0"', 'wait=0'],
    ['WAIT=0', 'wait=0'],
    ['wait=0, wait=30', 'wait=0'],
    ['wait', null],
    ['wait=soon', null],
    ['wait=-1', null],
    ['wait=1.5', null],
    ['return=minimal', null],
  ] as const) {
    test(`reads "${prefer}" as RFC 7240 has it, and answers at once`, async () => {
      const made = await makeTransaction(service);
      const answer = await service.get(made.path, { headers: { prefer } });
      assert.equal(answer.json.data?.['status'], 'PROCESS');
      assert.equal(answer.headers.get('preference-applied'), applied);
    });
  }

  test('does not wait for what does not exist, or is not the own', async () => {
    const made = await makeTransaction(service);
    assert.equal((await wait('/api/v1/check-status/TB9999999999', 30)).status, 404);
    assert.equal((await wait(made.path, 30, service.beta.token)).status, 404);
  });

  test('serves many who wait for one transaction, and none who waits for another', async () => {
    const made = await makeTransaction(service);
    const other = await makeTransaction(service);
    const asked = Array.from({ length: 50 }, () => wait(made.path, 30));
    const askedOther = wait(other.path, 30);
    await whileWaiting(51, () => feedChange(service, made, { status: 'SUCCESS' }));
    for (const answer of await Promise.all(asked)) assert.equal(answer.json.data?.['status'], 'SUCCESS');
    assert.equal(service.app.longPollCount(), 1);
    await feedChange(service, other, { status: 'FAILED', failure_reason: 'OTHER' });
    assert.equal((await askedOther).json.data?.['status'], 'FAILED');
    assert.equal(service.app.longPollCount(), 0);
  });

  test('counts once against the limit', async () => {
    const limited = await service.addClient('waiting-limited', ['status:read'], { 'check-status': 2 });
    const made = await makeTransaction(service, { client_id: 'waiting-limited' });
    const asked = wait(made.path, 30, limited.token);
    await whileWaiting(1, () => feedChange(service, made, { client_id: 'waiting-limited', status: 'SUCCESS' }));
    assert.match((await asked).headers.get('ratelimit') ?? '', /r=1;/);
    assert.equal((await wait(made.path, 1, limited.token)).status, 200);
    assert.equal((await wait(made.path, 1, limited.token)).status, 429);
  });

  test('ends without a trace when the client leaves', async () => {
    const made = await makeTransaction(service);
    const leaving = new AbortController();
    const asked = fetch(service.url + made.path, {
      headers: { authorization: `Bearer ${service.alpha.token}`, prefer: 'wait=30' },
      signal: leaving.signal,
    });
    await until(() => service.app.longPollCount() === 1, 'one waiting');
    leaving.abort();
    await assert.rejects(asked);
    await until(() => service.app.longPollCount() === 0, 'nobody waiting');
  });

  test('tells a client that was disabled meanwhile nothing', async () => {
    const gone = await service.addClient('waiting-gone', ['status:read']);
    const made = await makeTransaction(service, { client_id: 'waiting-gone' });
    const asked = wait(made.path, 30, gone.token);
    await until(() => service.app.longPollCount() === 1, 'one waiting');
    await changeClient(service.app.database, 'waiting-gone', 'disable');
    await until(() => service.app.clients.find('waiting-gone')?.disabled === true, 'the client disabled');
    await feedChange(service, made, { client_id: 'waiting-gone', status: 'SUCCESS' });
    assert.equal((await asked).status, 401);
  });

  test('outlives the loss of the connection that listens: what was missed is read when it is back', async () => {
    const made = await makeTransaction(service);
    const asked = wait(made.path, 30);
    await until(() => service.app.longPollCount() === 1, 'one waiting');
    await service.app.database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tiba notifications' and datname = current_database()",
    );
    await feedChange(service, made, { status: 'SUCCESS' });
    assert.equal((await asked).json.data?.['status'], 'SUCCESS');
  });
});

test('a service that stops answers those who wait with what is known', async () => {
  const stopping = await startTestService({ rails: [] });
  const made = await makeTransaction(stopping).catch(async (error: unknown) => {
    await stopping.close();
    throw error;
  });
  const asked = stopping.get(made.path, { headers: { prefer: 'wait=30' } });
  await until(() => stopping.app.longPollCount() === 1, 'one waiting');
  const closed = stopping.close();
  const answer = await asked;
  assert.equal(answer.status, 200);
  assert.equal(answer.json.data?.['status'], 'PROCESS');
  await closed;
});
