import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setClientLimits } from '../../apps/server/src/postgres/clients.ts';
import { assertError } from '../contract/assertions.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { feedChange, makeTransaction, until } from './changing.ts';

const STREAM = { accept: 'text/event-stream' };
const WAIT = { prefer: 'wait=30' };

async function opened(
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

/** Regression: a client could hold as many streams as it could open while a token lives. */
suite('answers of one client that wait or stream at a time', () => {
  test('are bounded; one more is RATE_LIMIT_EXCEEDED, and says what to do', async (context) => {
    const service = await startTestService({ rails: [], longPoll: { openWaitsMax: 100 } });
    context.after(service.close);
    const made = await makeTransaction(service);
    const waiting = Array.from({ length: 40 }, () => service.get(made.path, { headers: WAIT }));
    const open = Array.from({ length: 60 }, () => opened(service, made.path, context.signal));
    const streams = await Promise.all(open);
    await until(() => service.app.longPollCount() === 100, 'a hundred');

    for (const headers of [STREAM, WAIT]) {
      const answer = await service.get(made.path, { headers });
      assertError(answer, 'RATE_LIMIT_EXCEEDED', /end some, or register a callback endpoint/);
      assert.equal(answer.headers.get('retry-after'), '60');
      assert.ok(answer.headers.get('ratelimit'));
    }
    // Who asks and goes needs no place, and others have their own.
    for (const headers of [{ prefer: 'wait=0' }, {}]) {
      assert.equal((await service.get(made.path, { headers })).status, 200);
    }
    const other = await makeTransaction(service, { client_id: 'beta' });
    const ofBeta = service.get(other.path, { token: service.beta.token, headers: WAIT });
    await until(() => service.app.longPollCount() === 101, 'one of the other client');
    await feedChange(service, other, { client_id: 'beta', status: 'SUCCESS' });
    assert.equal((await ofBeta).status, 200);

    await feedChange(service, made, { status: 'SUCCESS' });
    for (const answer of await Promise.all(waiting)) assert.equal(answer.json.data?.['status'], 'SUCCESS');
    for (const stream of streams) assert.match(await stream.text(), /"SUCCESS"/);
  });

  test('are twice its limit of a minute: all that it may begin can wait its minute', async (context) => {
    let nowMs = 0;
    const service = await startTestService({ rails: [], limitClock: () => nowMs });
    context.after(service.close);
    await setClientLimits(service.app.database, service.alpha.clientId, { 'check-status': 2 });
    await service.app.clients.reload();
    const made = await makeTransaction(service);
    const waiting: Promise<Answer>[] = [];
    while (waiting.length < 4) {
      for (const _ of [1, 2]) waiting.push(service.get(made.path, { headers: WAIT }));
      await until(() => service.app.longPollCount() === waiting.length, `${waiting.length} wait`);
      nowMs += 60_000;
    }
    assertError(await service.get(made.path, { headers: WAIT }), 'RATE_LIMIT_EXCEEDED', /No more than 4 requests/);
    await feedChange(service, made, { status: 'SUCCESS' });
    for (const answer of await Promise.all(waiting)) assert.equal(answer.json.data?.['status'], 'SUCCESS');
  });

  test('whoever has left or has its answer makes room', async (context) => {
    const service = await startTestService({ rails: [], longPoll: { openWaitsMax: 1 } });
    context.after(service.close);
    const made = await makeTransaction(service);
    for (let turn = 0; turn < 3; turn += 1) {
      const leaving = new AbortController();
      const stream = await opened(service, made.path, leaving.signal);
      assertError(await service.get(made.path, { headers: WAIT }), 'RATE_LIMIT_EXCEEDED');
      leaving.abort();
      await assert.rejects(stream.text());
      const headers = { prefer: 'wait=1' };
      await until(async () => (await service.get(made.path, { headers })).status === 200, 'room for a wait');
    }
  });
});

suite('a stream', () => {
  let service: TestService;
  after(() => service?.close());

  test('ends when its time is over, and goes on where it was', async () => {
    service = await startTestService({ rails: [], longPoll: { streamMaxMs: 100 } });
    const made = await makeTransaction(service);
    const leaving = AbortSignal.timeout(10_000);
    const response = await opened(service, made.path, leaving);
    assert.match(await response.text(), /^id: 1$/m);
    assert.equal(service.app.longPollCount(), 0);
    await feedChange(service, made, { status: 'SUCCESS' });
    const again = await service.get(made.path, { headers: { ...STREAM, 'last-event-id': '1' } });
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

  /** Regression: the wait went on for as long as it was asked for, and its answer was 401. */
  test('is waited with for less: the answer is what is known, and says how long was waited', async () => {
    const made = await makeTransaction(service);
    const answer = await service.get(made.path, { token: await tokenFor(4), headers: WAIT });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.data?.['status'], 'PROCESS');
    assert.match(answer.headers.get('preference-applied') ?? '', /^wait=[012]$/);
  });

  test('ends its stream with it', async () => {
    const made = await makeTransaction(service);
    const token = await tokenFor(2);
    const startedMs = performance.now();
    const stream = await opened(service, made.path, AbortSignal.timeout(20_000), { ...service.alpha, token });
    assert.match(await stream.text(), /^id: 1$/m);
    const tookMs = performance.now() - startedMs;
    assert.ok(tookMs < timeLimitMs(4_000), `${tookMs} ms`);
  });
});
