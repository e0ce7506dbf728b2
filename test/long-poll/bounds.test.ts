import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setClientLimits } from '../../apps/server/src/postgres/clients.ts';
import { assertError } from '../contract/assertions.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { createTransaction, feedChange, until } from './transactions.ts';

const STREAM = { accept: 'text/event-stream' };
const WAIT = { prefer: 'wait=30' };

async function openStream(
  service: TestService,
  path: string,
  signal: AbortSignal,
  { token } = service.alpha,
): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, ...STREAM };
  const response = await fetch(service.url + path, { headers, signal });
  assert.equal(response.status, 200);
  return response;
}

/**
 * docs/contract.md 8.1. Regression: a client could hold any number of streams that it opened during the lifetime of a
 * token.
 */
suite('requests of one client that wait or stream at a time', () => {
  test('are limited; one more is RATE_LIMIT_EXCEEDED, and the message says what to do', async (context) => {
    const service = await startTestService({ rails: [], longPoll: { openWaitsMax: 100 } });
    context.after(service.close);
    const transaction = await createTransaction(service);
    const waiting = Array.from({ length: 40 }, () => service.get(transaction.path, { headers: WAIT }));
    const open = Array.from({ length: 60 }, () => openStream(service, transaction.path, context.signal));
    const streams = await Promise.all(open);
    await until(() => service.app.longPollCount() === 100, 'a hundred open requests');

    for (const headers of [STREAM, WAIT]) {
      const answer = await service.get(transaction.path, { headers });
      assertError(answer, 'RATE_LIMIT_EXCEEDED', /end some, or register a callback endpoint/);
      assert.equal(answer.headers.get('retry-after'), '60');
      assert.ok(answer.headers.get('ratelimit'));
    }
    // Requests that do not wait are not limited by this, and each client has a limit of its own.
    for (const headers of [{ prefer: 'wait=0' }, {}]) {
      assert.equal((await service.get(transaction.path, { headers })).status, 200);
    }
    const other = await createTransaction(service, { client_id: 'beta' });
    const ofBeta = service.get(other.path, { token: service.beta.token, headers: WAIT });
    await until(() => service.app.longPollCount() === 101, 'one request of the other client');
    await feedChange(service, other, { client_id: 'beta', status: 'SUCCESS' });
    assert.equal((await ofBeta).status, 200);

    await feedChange(service, transaction, { status: 'SUCCESS' });
    for (const answer of await Promise.all(waiting)) assert.equal(answer.json.data?.['status'], 'SUCCESS');
    for (const stream of streams) assert.match(await stream.text(), /"SUCCESS"/);
  });

  test('are limited to twice the rate limit, so that every admitted request can wait a minute', async (context) => {
    let nowMs = 0;
    const service = await startTestService({ rails: [], limitClock: () => nowMs });
    context.after(service.close);
    await setClientLimits(service.app.database, service.alpha.clientId, { 'check-status': 2 });
    await service.app.clients.reload();
    const transaction = await createTransaction(service);
    const waiting: Promise<Answer>[] = [];
    while (waiting.length < 4) {
      for (const _ of [1, 2]) waiting.push(service.get(transaction.path, { headers: WAIT }));
      await until(() => service.app.longPollCount() === waiting.length, `${waiting.length} wait`);
      nowMs += 60_000;
    }
    assertError(
      await service.get(transaction.path, { headers: WAIT }),
      'RATE_LIMIT_EXCEEDED',
      /No more than 4 requests/,
    );
    await feedChange(service, transaction, { status: 'SUCCESS' });
    for (const answer of await Promise.all(waiting)) assert.equal(answer.json.data?.['status'], 'SUCCESS');
  });

  test('a request whose client has gone, or that was answered, no longer counts', async (context) => {
    const service = await startTestService({ rails: [], longPoll: { openWaitsMax: 1 } });
    context.after(service.close);
    const transaction = await createTransaction(service);
    for (let turn = 0; turn < 3; turn += 1) {
      const leaving = new AbortController();
      const stream = await openStream(service, transaction.path, leaving.signal);
      assertError(await service.get(transaction.path, { headers: WAIT }), 'RATE_LIMIT_EXCEEDED');
      leaving.abort();
      await assert.rejects(stream.text());
      const headers = { prefer: 'wait=1' };
      await until(
        async () => (await service.get(transaction.path, { headers })).status === 200,
        'one more request may wait',
      );
    }
  });
});

suite('a stream', () => {
  let service: TestService;
  after(() => service?.close());

  test('ends after the maximum time, and continues after Last-Event-ID', async () => {
    service = await startTestService({ rails: [], longPoll: { streamMaxMs: 100 } });
    const transaction = await createTransaction(service);
    const leaving = AbortSignal.timeout(timeLimitMs(10_000));
    const response = await openStream(service, transaction.path, leaving);
    assert.match(await response.text(), /^id: 1$/m);
    assert.equal(service.app.longPollCount(), 0);
    await feedChange(service, transaction, { status: 'SUCCESS' });
    const again = await service.get(transaction.path, { headers: { ...STREAM, 'last-event-id': '1' } });
    assert.match(again.text, /^id: 2$/m);
  });
});

suite('a token that expires soon', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ rails: [] });
  });
  after(() => service?.close());

  async function tokenFor(seconds: number): Promise<string> {
    const client = service.app.clients.find('alpha');
    assert.ok(client !== undefined);
    return service.app.issue(client, ['status:read'], seconds);
  }

  /** Regression: the wait took the requested time, and its answer was 401. */
  test('shortens the wait: the answer has the current state and the actual wait in Preference-Applied', async () => {
    const transaction = await createTransaction(service);
    const answer = await service.get(transaction.path, { token: await tokenFor(4), headers: WAIT });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.data?.['status'], 'PROCESS');
    assert.match(answer.headers.get('preference-applied') ?? '', /^wait=[012]$/);
  });

  test('ends the stream when it expires', async () => {
    const transaction = await createTransaction(service);
    const token = await tokenFor(2);
    const startedMs = performance.now();
    const stream = await openStream(service, transaction.path, AbortSignal.timeout(timeLimitMs(20_000)), {
      ...service.alpha,
      token,
    });
    assert.match(await stream.text(), /^id: 1$/m);
    const tookMs = performance.now() - startedMs;
    assert.ok(tookMs < timeLimitMs(4_000), `${tookMs} ms`);
  });
});
