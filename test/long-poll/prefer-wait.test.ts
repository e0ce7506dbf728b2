import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { createTransaction, feedChange, until } from './transactions.ts';

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const getWithWait = (path: string, seconds: number | string, token?: string): Promise<Answer> =>
  service.get(path, { headers: { prefer: `wait=${seconds}` }, ...(token === undefined ? {} : { token }) });

/** Makes a change as soon as this many requests are waiting. */
async function whileWaiting(count: number, makeChange: () => Promise<void>): Promise<void> {
  await until(() => service.app.longPollCount() >= count, `${count} waiting`);
  await makeChange();
}

suite('Prefer: wait', () => {
  for (const form of ['path', 'referencePath'] as const) {
    test(`answers as soon as the status is final, by ${form}`, async () => {
      const transaction = await createTransaction(service);
      const waiting = getWithWait(transaction[form], 30);
      await whileWaiting(1, () => feedChange(service, transaction, { status: 'SUCCESS' }));
      const answer = await waiting;
      assert.equal(answer.status, 200);
      assert.equal(answer.json.data?.['status'], 'SUCCESS');
      assert.equal(answer.headers.get('preference-applied'), 'wait=30');
      assert.equal(answer.headers.get('etag'), (await service.get(transaction.path)).headers.get('etag'));
      assert.equal(answer.headers.get('retry-after'), null);
    });
  }

  test('answers after N seconds with the current state', async () => {
    const transaction = await createTransaction(service);
    const startedMs = performance.now();
    const answer = await getWithWait(transaction.path, 1);
    const tookMs = performance.now() - startedMs;
    assert.ok(tookMs >= 990 && tookMs < timeLimitMs(3_000), `${tookMs} ms`);
    assert.equal(answer.json.data?.['status'], 'PROCESS');
    assert.equal(answer.headers.get('preference-applied'), 'wait=1');
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
  });

  test('answers at once when the status is already final', async () => {
    const transaction = await createTransaction(service, { status: 'SUCCESS' });
    const answer = await getWithWait(transaction.path, 30);
    assert.equal(answer.json.data?.['status'], 'SUCCESS');
    assert.equal(answer.headers.get('preference-applied'), 'wait=30');
  });

  test('is capped at 60 seconds, which Preference-Applied says', async () => {
    const transaction = await createTransaction(service, { status: 'SUCCESS' });
    assert.equal((await getWithWait(transaction.path, 3600)).headers.get('preference-applied'), 'wait=60');
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
    test(`parses "${prefer}" as in RFC 7240, and answers at once`, async () => {
      const transaction = await createTransaction(service);
      const answer = await service.get(transaction.path, { headers: { prefer } });
      assert.equal(answer.json.data?.['status'], 'PROCESS');
      assert.equal(answer.headers.get('preference-applied'), applied);
    });
  }

  test('does not wait for a transaction that does not exist or belongs to another client', async () => {
    const transaction = await createTransaction(service);
    assert.equal((await getWithWait('/api/v1/check-status/TB9999999999', 30)).status, 404);
    assert.equal((await getWithWait(transaction.path, 30, service.beta.token)).status, 404);
  });

  test('a change answers all requests that wait for that transaction, and no others', async () => {
    const transaction = await createTransaction(service);
    const other = await createTransaction(service);
    const waiting = Array.from({ length: 50 }, () => getWithWait(transaction.path, 30));
    const waitingForOther = getWithWait(other.path, 30);
    await whileWaiting(51, () => feedChange(service, transaction, { status: 'SUCCESS' }));
    for (const answer of await Promise.all(waiting)) assert.equal(answer.json.data?.['status'], 'SUCCESS');
    assert.equal(service.app.longPollCount(), 1);
    await feedChange(service, other, { status: 'FAILED', failure_reason: 'OTHER' });
    assert.equal((await waitingForOther).json.data?.['status'], 'FAILED');
    assert.equal(service.app.longPollCount(), 0);
  });

  test('counts once for the rate limit', async () => {
    const limited = await service.addClient('waiting-limited', ['status:read'], { 'check-status': 2 });
    const transaction = await createTransaction(service, { client_id: 'waiting-limited' });
    const waiting = getWithWait(transaction.path, 30, limited.token);
    await whileWaiting(1, () => feedChange(service, transaction, { client_id: 'waiting-limited', status: 'SUCCESS' }));
    assert.match((await waiting).headers.get('ratelimit') ?? '', /r=1;/);
    assert.equal((await getWithWait(transaction.path, 1, limited.token)).status, 200);
    assert.equal((await getWithWait(transaction.path, 1, limited.token)).status, 429);
  });

  test('leaves nothing open when the client disconnects', async () => {
    const transaction = await createTransaction(service);
    const leaving = new AbortController();
    const waiting = fetch(service.url + transaction.path, {
      headers: { authorization: `Bearer ${service.alpha.token}`, prefer: 'wait=30' },
      signal: leaving.signal,
    });
    await until(() => service.app.longPollCount() === 1, 'one waiting');
    leaving.abort();
    await assert.rejects(waiting);
    await until(() => service.app.longPollCount() === 0, 'none waiting');
  });

  test('a client that was disabled during the wait gets 401', async () => {
    const gone = await service.addClient('waiting-gone', ['status:read']);
    const transaction = await createTransaction(service, { client_id: 'waiting-gone' });
    const waiting = getWithWait(transaction.path, 30, gone.token);
    await until(() => service.app.longPollCount() === 1, 'one waiting');
    await changeClient(service.app.database, 'waiting-gone', 'disable');
    await until(() => service.app.clients.find('waiting-gone')?.disabled === true, 'the client disabled');
    await feedChange(service, transaction, { client_id: 'waiting-gone', status: 'SUCCESS' });
    assert.equal((await waiting).status, 401);
  });

  test('survives the loss of the notification connection: missed changes are read after the reconnect', async () => {
    const transaction = await createTransaction(service);
    const waiting = getWithWait(transaction.path, 30);
    await until(() => service.app.longPollCount() === 1, 'one waiting');
    await service.app.database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tiba notifications' and " +
        'datname = current_database()',
    );
    await feedChange(service, transaction, { status: 'SUCCESS' });
    assert.equal((await waiting).json.data?.['status'], 'SUCCESS');
  });
});

test('a service that stops answers waiting requests with the current state', async () => {
  const stopping = await startTestService({ rails: [] });
  const transaction = await createTransaction(stopping).catch(async (error: unknown) => {
    await stopping.close();
    throw error;
  });
  const waiting = stopping.get(transaction.path, { headers: { prefer: 'wait=30' } });
  await until(() => stopping.app.longPollCount() === 1, 'one waiting');
  const closed = stopping.close();
  const answer = await waiting;
  assert.equal(answer.status, 200);
  assert.equal(answer.json.data?.['status'], 'PROCESS');
  await closed;
});
