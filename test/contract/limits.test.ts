import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setClientLimits } from '../../apps/server/src/postgres/clients.ts';
import { type Answer, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { assertError } from './assertions.ts';
import { createFastClient, type FastClient } from './fast-client.ts';
import { until } from './until.ts';

/** docs/contract.md 8.1 and 8.2. Every 60-second window: limits-over-time.test.ts */

let service: TestService;
let client: FastClient;
/** The clock of the limits stands still unless a test moves it. */
let clockMs = 1_000_000.25;

before(async () => {
  service = await startTestService({ limitClock: () => clockMs });
  client = createFastClient(service.url);
});
after(async () => {
  await client?.close();
  await service?.close();
});

const newClient = (name: string, limits: Parameters<TestService['addClient']>[2] = {}): Promise<TestClient> =>
  service.addClient(name, ['status:read', 'account:check'], limits);

type SendRequest = (token: string) => Promise<Answer>;
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
const byPath: SendRequest = (token) => client.send('/api/v1/check-status/NONE', { headers: bearer(token) });
const byQuery: SendRequest = (token) =>
  client.send('/api/v1/check-status?reference_id=NONE', { headers: bearer(token) });
/** A request that fails after the rate limit and before the bank: it counts, and costs no inquiry. */
const checkAccount: SendRequest = (token) =>
  client.send('/api/v1/check-account', {
    method: 'POST',
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body: '{"bank_code":"NOPE"}',
  });

/** As fast as 32 connections allow. */
const sendMany = (count: number, send: () => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: count }, send));

const admitted = (answers: readonly Answer[]): number => answers.filter(({ status }) => status !== 429).length;

suite('1,000 requests at full speed by one client', () => {
  test('check-status: exactly 120 are admitted, counting both forms together', async () => {
    const { token } = await newClient('fast-status');
    let turn = 0;
    const answers = await sendMany(1_000, () => ((turn += 1) % 2 === 0 ? byPath(token) : byQuery(token)));
    assert.equal(admitted(answers), 120);
    for (const answer of answers) {
      assertError(answer, answer.status === 429 ? 'RATE_LIMIT_EXCEEDED' : 'TRANSACTION_NOT_FOUND');
    }
  });

  test('check-account: exactly 100 are admitted', async () => {
    const { token } = await newClient('fast-account');
    assert.equal(admitted(await sendMany(1_000, () => checkAccount(token))), 100);
  });
});

suite('which requests count', () => {
  test('each operation has its own limit', async () => {
    const { token } = await newClient('both', { 'check-status': 1, 'check-account': 1 });
    assert.notEqual((await byPath(token)).status, 429);
    assert.notEqual((await checkAccount(token)).status, 429);
    assertError(await byQuery(token), 'RATE_LIMIT_EXCEEDED');
    assertError(await checkAccount(token), 'RATE_LIMIT_EXCEEDED');
  });

  test('the limit is per client: a second token does not double it', async () => {
    const { clientId, token } = await newClient('two-tokens', { 'check-status': 3 });
    const client = service.app.clients.find(clientId);
    assert.ok(client !== undefined);
    const second = await service.app.issue(client, ['status:read'], 900);
    assert.notEqual(second, token);
    const answers = [await byPath(token), await byPath(second), await byPath(token), await byPath(second)];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404, 404, 429],
    );
  });

  test("one client's requests do not count for another", async () => {
    const [one, other] = [
      await newClient('one', { 'check-status': 1 }),
      await newClient('other', { 'check-status': 1 }),
    ];
    await byPath(one.token);
    assertError(await byPath(one.token), 'RATE_LIMIT_EXCEEDED');
    assertError(await byPath(other.token), 'TRANSACTION_NOT_FOUND');
  });

  test('requests over the limit do not count', async () => {
    const { token } = await newClient('insistent', { 'check-status': 2 });
    const startMs = clockMs;
    await byPath(token);
    await byPath(token);
    for (let second = 1; second < 60; second += 1) {
      clockMs = startMs + second * 1_000;
      assertError(await byPath(token), 'RATE_LIMIT_EXCEEDED');
    }
    clockMs = startMs + 60_000;
    assertError(await byPath(token), 'TRANSACTION_NOT_FOUND');
    assertError(await byPath(token), 'TRANSACTION_NOT_FOUND');
  });

  test('requests that fail after the limit count', async () => {
    const { token } = await newClient('mistaken', { 'check-status': 2 });
    assertError(await service.get('/api/v1/check-status/%00', { token }), 'INVALID_TRANSACTION_ID');
    const accept = { accept: 'text/html' };
    assertError(await service.get('/api/v1/check-status/X', { token, headers: accept }), 'NOT_ACCEPTABLE');
    assertError(await byPath(token), 'RATE_LIMIT_EXCEEDED');
  });

  test('requests that fail before the limit do not count', async () => {
    const { token } = await newClient('patient', { 'check-status': 1 });
    for (let turn = 0; turn < 3; turn += 1) {
      assertError(await service.get('/api/v1/check-status/X', { token, method: 'DELETE' }), 'METHOD_NOT_ALLOWED');
    }
    assertError(await byPath(token), 'TRANSACTION_NOT_FOUND');
  });
});

suite('headers', () => {
  test('every authenticated answer has RateLimit and RateLimit-Policy, in exactly this form', async () => {
    const { token } = await newClient('informed');
    const expect = async (send: SendRequest, status: number, policy: string, limit: string): Promise<void> => {
      const answer = await send(token);
      assert.equal(answer.status, status);
      assert.equal(answer.headers.get('ratelimit-policy'), policy);
      assert.equal(answer.headers.get('ratelimit'), limit);
    };
    const [status, account] = ['"check-status";q=120;w=60', '"check-account";q=100;w=60'];
    await expect(byPath, 404, status, '"check-status";r=119;t=60');
    clockMs += 1;
    await expect(byQuery, 404, status, '"check-status";r=118;t=60');
    clockMs += 58_999;
    await expect(byPath, 404, status, '"check-status";r=117;t=1');
    clockMs += 1_000;
    await expect(byPath, 404, status, '"check-status";r=117;t=1');
    await expect(checkAccount, 400, account, '"check-account";r=99;t=60');
    const good = { bank_code: '014', account_number: '1234567890' };
    await expect((token) => service.checkAccount(good, { token }), 200, account, '"check-account";r=98;t=60');
  });

  test('t never exceeds the window, even where a sum of times rounds up', async () => {
    const { token } = await newClient('rounding', { 'check-status': 1 });
    let roundingMs = 2 ** 30 - 30_000;
    while (roundingMs + 60_000 - roundingMs <= 60_000) roundingMs += 0.000_1;
    clockMs = roundingMs;
    assert.equal((await byPath(token)).headers.get('ratelimit'), '"check-status";r=0;t=60');
    assert.equal((await byPath(token)).headers.get('retry-after'), '60');
  });

  test('FORBIDDEN has the headers too, and does not count', async () => {
    const { token } = await service.addClient('forbidden', ['account:check'], { 'check-status': 5 });
    for (let turn = 0; turn < 7; turn += 1) {
      const answer = await byPath(token);
      assertError(answer, 'FORBIDDEN');
      assert.equal(answer.headers.get('ratelimit'), '"check-status";r=5;t=0');
    }
  });

  test('an answer without an authenticated caller has no rate limit headers', async () => {
    for (const answer of [await byPath('bad'), await service.get('/unknown')]) {
      assert.ok(!answer.headers.has('ratelimit') && !answer.headers.has('ratelimit-policy'));
    }
  });

  test('Retry-After is the time until a request would be admitted: whole seconds, rounded up', async () => {
    const { token } = await newClient('waiting', { 'check-status': 2 });
    const startMs = clockMs;
    await byPath(token);
    clockMs = startMs + 10_000.5;
    await byPath(token);
    for (const [elapsedMs, seconds] of [
      [10_000.5, '50'],
      [11_000, '49'],
      [11_000.1, '49'],
      [58_999.9, '2'],
      [59_000, '1'],
      [59_999.9, '1'],
    ] as const) {
      clockMs = startMs + elapsedMs;
      const answer = await byPath(token);
      assertError(answer, 'RATE_LIMIT_EXCEEDED');
      assert.equal(answer.headers.get('retry-after'), seconds, `after ${elapsedMs} ms`);
      assert.equal(answer.headers.get('ratelimit'), `"check-status";r=0;t=${seconds}`);
    }
    clockMs = startMs + 60_000;
    assertError(await byPath(token), 'TRANSACTION_NOT_FOUND');
    assert.equal((await byPath(token)).headers.get('retry-after'), '11');
  });
});

suite('an operator may give a client other limits', () => {
  test('they replace the default limits, and the headers show them', async () => {
    const { token } = await newClient('special', { 'check-status': 300, 'check-account': 2 });
    assert.equal(admitted(await sendMany(400, () => byPath(token))), 300);
    assert.equal(admitted(await sendMany(10, () => checkAccount(token))), 2);
    assert.equal((await checkAccount(token)).headers.get('ratelimit-policy'), '"check-account";q=2;w=60');
  });

  test('a lowered limit applies at once, and Retry-After counts the requests made under the old one', async () => {
    const { clientId, token } = await newClient('lowered', { 'check-status': 10 });
    const startMs = clockMs;
    for (let turn = 0; turn < 10; turn += 1) {
      clockMs = startMs + turn * 1_000;
      await byPath(token);
    }
    await setClientLimits(service.app.database, clientId, { 'check-status': 3, 'check-account': null });
    const isLowered = ({ headers }: Answer): boolean => headers.get('ratelimit-policy') === '"check-status";q=3;w=60';
    const rejected = await until(isLowered, () => byPath(token));
    assertError(rejected, 'RATE_LIMIT_EXCEEDED');
    // Eight of the ten must leave the window before the next request is admitted; the eighth was admitted at 7 s.
    assert.equal(rejected.headers.get('retry-after'), '58');
    clockMs = startMs + 66_999;
    assertError(await byPath(token), 'RATE_LIMIT_EXCEEDED');
    clockMs = startMs + 67_000;
    assertError(await byPath(token), 'TRANSACTION_NOT_FOUND');
  });

  test('a limit of 0 admits nothing', async () => {
    const { token } = await newClient('none', { 'check-status': 0 });
    const answer = await byPath(token);
    assertError(answer, 'RATE_LIMIT_EXCEEDED');
    assert.equal(answer.headers.get('ratelimit-policy'), '"check-status";q=0;w=60');
  });
});
