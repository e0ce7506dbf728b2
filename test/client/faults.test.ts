import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createTibaClient, TibaError } from '../../packages/client/src/index.ts';
import { eventually } from '../support/eventually.ts';
import { IN_PROCESS, type Script, sendError, sendTransaction, startScriptedService } from './scripted-service.ts';
import { countFetch } from './test-client.ts';
import { createVirtualClock, longestBackoff } from './virtual-clock.ts';

/** What clients of other services complain about: each test would fail with the client that is named. */

const failure = async (promise: Promise<unknown>): Promise<TibaError> => {
  const error = await promise.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof TibaError, String(error));
  return error;
};

const quick = { random: () => 0 };

suite('deadline', () => {
  test('covers a body that arrives byte by byte (openai-node#1825: it ended at the headers)', async (context) => {
    const clock = createVirtualClock();
    const sent = countFetch();
    const { tiba } = await startScriptedService(
      context,
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{"success":');
      },
      { clock, timeoutMs: 5_000, fetch: sent.fetch },
    );
    const failed = failure(tiba.checkStatus('TB000001'));
    await eventually('the login and the headers are there', () => sent.statuses.get(200) === 2);
    clock.fireNext();
    const error = await failed;
    assert.equal(error.error_code, 'TIMEOUT');
    assert.match(error.message, /5000 ms/);
  });

  test('covers a server that accepts and never answers (svix#1652: no timeout at all)', async (context) => {
    const { tiba } = await startScriptedService(context, () => undefined);
    assert.equal((await failure(tiba.checkStatus('TB000001', { timeoutMs: 50 }))).error_code, 'TIMEOUT');
  });

  test('covers an accessToken that never comes, and the signal of the caller ends it too', async () => {
    const clock = createVirtualClock();
    const accessToken = () => new Promise<string>(() => undefined);
    const tiba = createTibaClient({ baseUrl: 'http://localhost', accessToken, clock, timeoutMs: 5_000 });
    const controller = new AbortController();
    const left = tiba.checkStatus('TB000001', { signal: controller.signal });
    const late = tiba.checkStatus('TB000002');
    const outcomes = Promise.all([left, late].map((call) => call.catch((error: unknown) => error)));
    const reason = new Error('the user has left');
    controller.abort(reason);
    await turn();
    clock.fireNext();
    const settled = await Promise.race([outcomes, turn(['still waiting'])]);
    assert.equal(settled[0], reason);
    assert.ok(settled[1] instanceof TibaError && settled[1].error_code === 'TIMEOUT', String(settled[1]));
    assert.deepEqual(clock.timersMs(), [], 'a timer is left');
  });

  test('an accessToken that fails after its caller has left is no unhandled rejection', async () => {
    const accessToken = () => Promise.reject(new Error('the issuer is away'));
    const tiba = createTibaClient({ baseUrl: 'http://localhost', accessToken });
    await assert.rejects(tiba.checkStatus('TB000001', { signal: AbortSignal.abort() }), { name: 'AbortError' });
    await assert.rejects(tiba.checkStatus('TB000001'), /the issuer is away/);
    await turn();
  });

  /** Regression: the message named a field of the error, which a reader of the command line does not see. */
  test('a login that is unavailable says in its message when to try again', async (context) => {
    const options = { ...quick, retriesMax: 0, failedLogins: 1 };
    const { tiba } = await startScriptedService(context, (response) => sendTransaction(response), options);
    const error = await failure(tiba.checkStatus('TB000001'));
    assert.match(error.message, /the login is temporarily unavailable: try again in 1 s$/);
  });

  test('a Retry-After beyond the deadline fails at once and says it (openai-node#1840: it slept)', async (context) => {
    const { tiba, requests } = await startScriptedService(context, (response) =>
      sendError(response, 503, 'SERVICE_UNAVAILABLE', { 'retry-after': '999999999' }),
    );
    const error = await failure(tiba.checkStatus('TB000001'));
    assert.ok(error.error_code === 'SERVICE_UNAVAILABLE');
    // No number of an answer is believed beyond an hour.
    assert.equal(error.retryAfterMs, 3_600_000);
    assert.equal(requests.length, 1);
  });
});

suite('AbortSignal', () => {
  test('a caller is told of each repetition and of the wait before it', async (context) => {
    const clock = createVirtualClock();
    const { tiba } = await startScriptedService(
      context,
      (response, _request, count) => {
        if (count === 1) sendError(response, 503, 'SERVICE_UNAVAILABLE', { 'retry-after': '2' });
        else if (count === 2) sendError(response, 401, 'UNAUTHORIZED');
        else if (count === 3) response.destroy();
        else sendTransaction(response);
      },
      { ...quick, clock },
    );
    const retried: (readonly [code: string, waitMs: number])[] = [];
    const found = tiba.checkStatus('TB000001', {
      onRetry({ error_code: code }, waitMs) {
        retried.push([code, waitMs]);
        queueMicrotask(() => clock.fireNext());
      },
    });
    assert.equal((await found).status, 'SUCCESS');
    assert.deepEqual(retried, [
      ['SERVICE_UNAVAILABLE', 2_000],
      ['CONNECTION_FAILED', 0],
    ]);
  });

  test('ends a backoff at once, with the reason of the caller (openai-node: ignored)', async (context) => {
    const clock = createVirtualClock();
    const { tiba, requests } = await startScriptedService(
      context,
      (response) => sendError(response, 503, 'SERVICE_UNAVAILABLE', { 'retry-after': '20' }),
      { clock },
    );
    const controller = new AbortController();
    const call = tiba.checkStatus('TB000001', { signal: controller.signal });
    await eventually('it backs off', () => requests.length === 1 && clock.timersMs().some((atMs) => atMs < 30_000));
    const reason = new Error('the user has left');
    controller.abort(reason);
    await assert.rejects(call, (error) => error === reason);
    assert.deepEqual(clock.timersMs(), [], 'a timer is left');
  });

  test('a caller that leaves does not end the login that others share', async (context) => {
    const { tiba, logins } = await startScriptedService(context, (response) => sendTransaction(response));
    const controller = new AbortController();
    const left = tiba.checkStatus('TB000001', { signal: controller.signal });
    const other = tiba.checkStatus('TB000002');
    controller.abort();
    await assert.rejects(left, { name: 'AbortError' });
    assert.equal((await other).status, 'SUCCESS');
    assert.equal(logins(), 1);
  });
});

suite('repeating', () => {
  const cases: readonly (readonly [what: string, script: Script])[] = [
    ['a broken connection', (response) => void response.destroy()],
    ['a page of a proxy', (response) => void response.writeHead(502, { 'content-type': 'text/html' }).end('<html>')],
    ['503', (response) => sendError(response, 503, 'SERVICE_UNAVAILABLE', { 'retry-after': '0' })],
    ['429', (response) => sendError(response, 429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '0' })],
  ];
  for (const [what, script] of cases) {
    test(`a read is repeated after ${what}`, async (context) => {
      const { tiba, requests } = await startScriptedService(
        context,
        (response, request, count) => (count <= 2 ? script(response, request, count) : sendTransaction(response)),
        quick,
      );
      assert.equal((await tiba.checkStatus('TB000001')).status, 'SUCCESS');
      assert.equal(requests.length, 3);
    });

    test(`retriesMax 0 sends one request, also after ${what} (stripe-node#2808: it sent two)`, async (context) => {
      const { tiba, requests } = await startScriptedService(context, script, { ...quick, retriesMax: 0 });
      await failure(tiba.checkStatus('TB000001'));
      assert.equal(requests.length, 1);
    });
  }

  test('what would happen twice is sent once: the connection breaks while an endpoint is registered', async (context) => {
    const { tiba, requests } = await startScriptedService(context, (response) => void response.destroy(), quick);
    const error = await failure(tiba.callbackEndpoints.register({ url: 'https://example.com' }));
    assert.equal(error.error_code, 'CONNECTION_FAILED');
    assert.ok(error.cause instanceof Error);
    assert.equal(requests.length, 1);
  });

  test('a bulk validation is repeated with the same Idempotency-Key', async (context) => {
    const { tiba, requests } = await startScriptedService(
      context,
      (response, _request, count) =>
        count < 3 ? void response.destroy() : sendError(response, 409, 'VALIDATION_LIMIT_REACHED'),
      quick,
    );
    await failure(tiba.accountValidations.create({ accounts: [] }));
    const keys = new Set(requests.map(({ headers }) => headers['idempotency-key']));
    assert.deepEqual([requests.length, keys.size], [3, 1]);
  });

  test('backoff doubles up to its bound, and full jitter takes any part of it', async (context) => {
    const clock = createVirtualClock();
    const { tiba, requests } = await startScriptedService(context, (response) => void response.destroy(), {
      clock,
      random: longestBackoff,
      timeoutMs: 60_000,
    });
    const failed = failure(tiba.checkStatus('TB000001'));
    const waits: number[] = [];
    for (let count = 1; count <= 4; count += 1) {
      const beganMs = clock.now();
      await eventually('it backs off', () => requests.length === count && clock.timersMs().length === 2);
      clock.fireNext();
      waits.push(clock.now() - beganMs);
    }
    assert.equal((await failed).error_code, 'CONNECTION_FAILED');
    assert.deepEqual(waits, [200, 400, 800, 1_600]);
  });
});

suite('login', () => {
  test('50 callers at once log in once; a refused token is renewed once', async (context) => {
    const { tiba, logins, requests } = await startScriptedService(context, (response, { headers }) =>
      headers.authorization === 'Bearer token-1'
        ? sendError(response, 401, 'UNAUTHORIZED')
        : sendTransaction(response, IN_PROCESS),
    );
    await Promise.all(Array.from({ length: 50 }, (_, index) => tiba.checkStatus(`TB${index + 100_000}`)));
    assert.equal(logins(), 2);
    assert.ok(requests.length <= 100, String(requests.length));
  });

  test('a token is used until shortly before it expires, and no longer', async (context) => {
    const clock = createVirtualClock();
    const { tiba, logins } = await startScriptedService(context, (response) => sendTransaction(response, IN_PROCESS), {
      clock,
    });
    await tiba.checkStatus('TB000001');
    clock.setTimer(() => undefined, 869_999);
    clock.fireNext();
    await tiba.checkStatus('TB000001');
    assert.equal(logins(), 1);
    clock.setTimer(() => undefined, 1);
    clock.fireNext();
    await tiba.checkStatus('TB000001');
    assert.equal(logins(), 2);
  });
});

suite('events', () => {
  const event = (sequence: number): object => ({
    sequence,
    event_id: `evt_TB000001_${sequence}`,
    type: 'disbursement.overdue',
    timestamp: '2026-11-21T04:32:26.123Z',
    version: sequence,
    data: {},
  });
  const sendEvents = (response: ServerResponse, sequences: readonly number[]): void => {
    const data = { events: sequences.map(event), next_after: sequences.at(-1) ?? 0, has_more: false };
    const body = JSON.stringify({ success: true, message: 'Events', data, meta: {} });
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  };

  test('EVENTS_GAP comes after the last event before the gap, so that none is skipped', async (context) => {
    const { tiba } = await startScriptedService(context, (response) => sendEvents(response, [1, 2, 4]));
    const events = tiba.events.follow();
    assert.deepEqual([(await events.next()).value.sequence, (await events.next()).value.sequence], [1, 2]);
    const error = await failure(events.next());
    assert.equal(error.error_code, 'EVENTS_GAP');
    assert.match(error.message, /event 4 follows event 2/);
  });

  test('numbers that go on higher after a restore are no gap', async (context) => {
    const first = 1_790_000_000 * 100_000 + 1;
    const { tiba } = await startScriptedService(context, (response) => sendEvents(response, [1, 2, first, first + 1]));
    const events = tiba.events.list({ sequence: 1 });
    assert.deepEqual(
      (await Array.fromAsync(events)).map(({ sequence }) => sequence),
      [2, first, first + 1],
    );
  });

  test('410 for a cursor from before a restore is EVENTS_RESTORED, whatever its code', async (context) => {
    const { tiba } = await startScriptedService(context, (response) => sendError(response, 410, 'A_NEW_CODE'));
    const error = await failure(tiba.events.follow({ sequence: 7 }).next());
    assert.equal(error.error_code, 'EVENTS_RESTORED');
  });

  test('an outage is reported by onRetry, and no event is lost or repeated', async (context) => {
    const { tiba } = await startScriptedService(
      context,
      (response, _request, count) => {
        if (count === 2) sendError(response, 503, 'SERVICE_UNAVAILABLE', { 'retry-after': '0' });
        else if (count === 3) response.destroy();
        else sendEvents(response, count === 1 ? [1] : [1, 2]);
      },
      { ...quick, retriesMax: 0 },
    );
    const retried: string[] = [];
    const events = tiba.events.follow(null, {
      intervalMs: 0,
      onRetry: ({ error_code: code }) => retried.push(code),
    });
    assert.deepEqual([(await events.next()).value.sequence, (await events.next()).value.sequence], [1, 2]);
    assert.deepEqual(retried, ['SERVICE_UNAVAILABLE', 'CONNECTION_FAILED']);
  });
});

suite('remembered verdicts', () => {
  const account = { bank_code: 'BCA', account_number: '1234567890' };
  const sendVerdict = (response: ServerResponse, status: string): void => {
    const body = JSON.stringify({ success: true, message: 'Checked', data: { status }, meta: {} });
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  };

  test('an older verdict is never returned after a newer one that was asked of the bank', async (context) => {
    const verdicts = ['ACTIVE', 'CLOSED', 'CLOSED'];
    const { tiba } = await startScriptedService(context, (response, _request, count) =>
      sendVerdict(response, verdicts[count - 1] ?? 'ACTIVE'),
    );
    const statuses: string[] = [];
    for (const maxAgeSeconds of [3_600, undefined, 3_600]) {
      statuses.push((await tiba.checkAccount(account, { maxAgeSeconds })).status);
    }
    assert.deepEqual(statuses, verdicts);
  });

  test('a verdict that was on its way when a newer one came is not remembered', async (context) => {
    const held = Promise.withResolvers<ServerResponse>();
    const { tiba, requests } = await startScriptedService(context, (response, _request, count) =>
      count === 2 ? held.resolve(response) : sendVerdict(response, 'CLOSED'),
    );
    // The first answer tells the client that no limit makes it wait.
    await tiba.checkAccount({ ...account, account_number: '0000000001' });
    const older = tiba.checkAccount(account, { maxAgeSeconds: 3_600 });
    const response = await held.promise;
    assert.equal((await tiba.checkAccount(account)).status, 'CLOSED');
    sendVerdict(response, 'ACTIVE');
    assert.equal((await older).status, 'ACTIVE');
    assert.equal((await tiba.checkAccount(account, { maxAgeSeconds: 3_600 })).status, 'CLOSED');
    assert.equal(requests.length, 4);
  });
});

suite('errors', () => {
  test('an error code of a newer service is UNEXPECTED_ANSWER and names it (xendit-node#196: opaque)', async (context) => {
    const { tiba } = await startScriptedService(context, (response) =>
      sendError(response, 418, 'NEW_CODE', { 'x-request-id': 'request-7' }),
    );
    const error = await failure(tiba.checkStatus('TB000001'));
    assert.deepEqual([error.error_code, error.status, error.requestId], ['UNEXPECTED_ANSWER', 418, 'request-7']);
    assert.match(error.message, /NEW_CODE/);
  });

  test('no error has the account number, the reference ID, the token or the secret in it', async (context) => {
    const { tiba } = await startScriptedService(context, (response) => void response.destroy(), quick);
    const { inspect } = await import('node:util');
    const errors = await Promise.all([
      failure(tiba.checkAccount({ bank_code: 'BCA', account_number: '9876543210' })),
      failure(tiba.checkStatusByReference('private-reference')),
    ]);
    assert.doesNotMatch(inspect([...errors, tiba], { depth: 9 }), /9876543210|private-reference|token-1|'secret'/);
  });

  test('a redirect is not followed: the token would go elsewhere', async (context) => {
    const { tiba, requests } = await startScriptedService(
      context,
      (response) => void response.writeHead(307, { location: '/elsewhere' }).end(),
    );
    assert.equal((await failure(tiba.checkStatus('TB000001'))).error_code, 'UNEXPECTED_ANSWER');
    assert.equal(requests.length, 1);
  });

  test('plain http to another machine is refused before the secret is sent', () => {
    const options = { baseUrl: 'http://tiba.example.com', clientId: 'alpha', clientSecret: 'secret' };
    assert.throws(() => createTibaClient(options), /https/);
    createTibaClient({ ...options, allowPlainHttp: true });
  });
});
