import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { TibaError } from '../../packages/client/src/index.ts';
import { exampleTransaction } from '../../packages/client/src/testing.ts';
import { createTransaction, feedChange } from '../long-poll/transactions.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { IN_PROCESS, type Script, sendError, sendTransaction, startScriptedService } from './scripted-service.ts';
import { clientOf, countFetch } from './test-client.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [], longPoll: { streamMaxMs: 300 } });
});
after(() => service?.close());

const quick = { random: () => 0 };

/** Whether the next thing to happen is the end of a pause between two checks. */
const pauses = (clock: VirtualClock): boolean =>
  [10_000, 25_000, 180_000].includes((clock.timersMs()[0] ?? 0) - clock.now());

suite('with the real service', () => {
  test('one stream tells of the final status at once, and it is remembered', async () => {
    const sent = countFetch();
    const tiba = clientOf(service, { ...quick, fetch: sent.fetch });
    const transaction = await createTransaction(service, { amount: '9007199254740993.01', fee: '0.00' });
    const waited = tiba.waitForFinal(transaction.referenceId);
    await eventually('it streams', () => service.app.longPollCount() === 1);
    await feedChange(service, transaction, { status: 'SUCCESS' });
    const found = await waited;
    assert.deepEqual([found.status, found.amount], ['SUCCESS', '9007199254740993.01']);
    const before = sent.requests.length;
    assert.equal((await tiba.waitForFinal(transaction.referenceId)).status, 'SUCCESS');
    assert.equal((await tiba.checkStatus(transaction.transactionId)).status, 'SUCCESS');
    assert.equal(sent.requests.length, before);
  });

  test('a stream that the service ends is opened again, until the status is final', async () => {
    const sent = countFetch();
    const tiba = clientOf(service, { ...quick, fetch: sent.fetch });
    const transaction = await createTransaction(service);
    const waited = tiba.waitForFinal(transaction.transactionId);
    await eventually('a second stream', () => sent.requests.length >= 3);
    await feedChange(service, transaction, { status: 'FAILED', failure_reason: 'OTHER' });
    assert.equal((await waited).status, 'FAILED');
  });

  test('the deadline and the signal end it, and an unknown ID fails at once', async () => {
    const clock = createVirtualClock();
    const tiba = clientOf(service, { ...quick, clock });
    const { transactionId } = await createTransaction(service);
    const waited = tiba.waitForFinal(transactionId).catch((reason: unknown) => reason);
    await eventually('the first stream has ended', () => clock.timersMs()[0] === clock.now());
    // The pause before the next stream, and the deadline.
    clock.fireNext();
    clock.fireNext();
    const late = await waited;
    assert.ok(late instanceof TibaError && late.error_code === 'STILL_IN_PROCESS', String(late));
    assert.equal(late.transaction.transaction_id, transactionId);
    const controller = new AbortController();
    const left = tiba.waitForFinal(transactionId, { signal: controller.signal });
    controller.abort(new Error('left'));
    await assert.rejects(left, /left/);
    await assert.rejects(tiba.waitForFinal('NONE'), /TRANSACTION_NOT_FOUND/);
    await eventually('no stream is left open', () => service.app.longPollCount() === 0);
  });
});

suite('with a server or a proxy that cannot', () => {
  test('without stream and wait: every 10 s, 30 times, then a clear error', async (context) => {
    const clock = createVirtualClock();
    const atMs: number[] = [];
    const { tiba } = await startScriptedService(
      context,
      (response) => {
        atMs.push(clock.now());
        sendTransaction(response, IN_PROCESS);
      },
      { clock, ...quick },
    );
    const waited = tiba.waitForFinal('TB2026112100000001').catch((reason: unknown) => reason);
    for (let count = 1; count < 30; count += 1) {
      await eventually(`check ${count}`, () => atMs.length === count && pauses(clock));
      clock.fireNext();
    }
    const error = await waited;
    assert.ok(error instanceof TibaError && error.error_code === 'STILL_IN_PROCESS');
    assert.match(error.message, /30 checks.*do not pay again/);
    assert.deepEqual(
      atMs,
      Array.from({ length: 30 }, (_, index) => index * 10_000),
    );
  });

  test('with a deadline it goes on after that every 3 minutes, and Retry-After slows it', async (context) => {
    const clock = createVirtualClock();
    const atMs: number[] = [];
    const { tiba } = await startScriptedService(
      context,
      (response, _request, count) => {
        atMs.push(clock.now());
        sendTransaction(response, count === 32 ? {} : IN_PROCESS, count === 1 ? { 'retry-after': '25' } : {});
      },
      { clock, ...quick },
    );
    const waited = tiba.waitForFinal('TB2026112100000001', { deadline: new Date(Date.now() + 3_600_000) });
    for (let count = 1; count < 32; count += 1) {
      await eventually(`check ${count}`, () => atMs.length === count && pauses(clock));
      clock.fireNext();
    }
    assert.equal((await waited).status, 'SUCCESS');
    assert.deepEqual([atMs[1], atMs[2], atMs[29], atMs[30], atMs[31]], [25_000, 35_000, 305_000, 485_000, 665_000]);
  });

  test('with wait and without streams: requests that wait, one after the other', async (context) => {
    const applied = { 'preference-applied': 'wait=30' };
    const { tiba, requests } = await startScriptedService(
      context,
      (response, _request, count) => sendTransaction(response, count === 3 ? {} : IN_PROCESS, applied),
      quick,
    );
    assert.equal((await tiba.waitForFinal('TB2026112100000001')).status, 'SUCCESS');
    assert.deepEqual(
      requests.map(({ headers }) => headers['prefer']),
      ['wait=30', 'wait=30', 'wait=30'],
    );
  });

  test('a proxy that holds streams back: the first event does not come, and requests wait instead', async (context) => {
    const clock = createVirtualClock();
    const sent = countFetch();
    const { tiba, requests } = await startScriptedService(
      context,
      (response, { headers }) => {
        if (headers.accept?.includes('event-stream') === true) {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        } else sendTransaction(response, { transaction_id: 'TB2026112100000002', reference_id: 'two' });
      },
      { clock, ...quick, fetch: sent.fetch },
    );
    const waited = tiba.waitForFinal('TB2026112100000002');
    await eventually('the stream began', () => sent.statuses.get(200) === 2);
    await eventually('it waits for the first event', () => clock.timersMs()[0] === 10_000);
    clock.fireNext();
    await eventually('it goes on after a moment', () => {
      if ((clock.timersMs()[0] ?? Infinity) < 60_000) clock.fireNext();
      return requests.length === 2;
    });
    assert.equal((await waited).status, 'SUCCESS');
    // The next call does not try a stream again.
    await tiba.waitForFinal('TB2026112100000009');
    assert.deepEqual(
      requests.map(({ headers }) => headers.accept?.includes('event-stream')),
      [true, false, false],
    );
  });

  const PASSING: readonly (readonly [what: string, script: Script])[] = [
    ['the connection breaks', (response) => void response.destroy()],
    ['a proxy gives up waiting (504)', (response) => void response.writeHead(504).end('<html>')],
    ['too many requests wait (429)', (response) => sendError(response, 429, 'RATE_LIMIT_EXCEEDED')],
    ['the service restarts (503)', (response) => sendError(response, 503, 'SERVICE_UNAVAILABLE')],
    ['the token was revoked (401)', (response) => sendError(response, 401, 'UNAUTHORIZED')],
    [
      'a stream breaks in the middle',
      (response) => {
        const data = JSON.stringify(exampleTransaction(IN_PROCESS));
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`id: 1\nevent: status\ndata: ${data}\n\n`, () => response.destroy());
      },
    ],
  ];
  for (const [what, script] of PASSING) {
    test(`it goes on when ${what}`, async (context) => {
      const { tiba, requests } = await startScriptedService(
        context,
        (response, request, count) => (count === 1 ? script(response, request, count) : sendTransaction(response)),
        quick,
      );
      assert.equal((await tiba.waitForFinal('TB2026112100000001')).status, 'SUCCESS');
      assert.equal(requests.length, 2);
    });
  }
});
