import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setClientLimits } from '../../apps/server/src/postgres/clients.ts';
import { type Answer, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { assertError } from './assertions.ts';
import { createFastClient, type FastClient } from './fast-client.ts';
import { until } from './until.ts';

/** docs/contract.md 8; 8.1. Any 60-second window: limits-over-time.test.ts */

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

type Ask = (token: string) => Promise<Answer>;
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
const byPath: Ask = (token) => client.send('/api/v1/check-status/NONE', { headers: bearer(token) });
const byQuery: Ask = (token) => client.send('/api/v1/check-status?reference_id=NONE', { headers: bearer(token) });
/** A request that is judged after the limit and fails before the bank: it counts, and costs no inquiry. */
const checkAccount: Ask = (token) =>
  client.send('/api/v1/check-account', {
    method: 'POST',
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body: '{"bank_code":"NOPE"}',
  });

/** As fast as 32 connections allow. */
const askMany = (count: number, ask: () => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: count }, ask));

const admitted = (answers: readonly Answer[]): number => answers.filter(({ status }) => status !== 429).length;

suite('1,000 requests at full speed by one client', () => {
  test('check-status: exactly 120 are admitted, and both forms share that allowance', async () => {
    const { token } = await newClient('fast-status');
    let turn = 0;
    const answers = await askMany(1_000, () => ((turn += 1) % 2 === 0 ? byPath(token) : byQuery(token)));
    assert.equal(admitted(answers), 120);
    for (const answer of answers) {
      assertError(answer, answer.status === 429 ? 'RATE_LIMIT_EXCEEDED' : 'TRANSACTION_NOT_FOUND');
    }
  });

  test('check-account: exactly 100 are admitted', async () => {
    const { token } = await newClient('fast-account');
    assert.equal(admitted(await askMany(1_000, () => checkAccount(token))), 100);
  });
});

suite('what is counted', () => {
  test('each operation has its own allowance', async () => {
    const { token } = await newClient('both', { 'check-status': 1, 'check-account': 1 });
    assert.notEqual((await byPath(token)).status, 429);
    assert.notEqual((await checkAccount(token)).status, 429);
    assertError(await byQuery(token), 'RATE_LIMIT_EXCEEDED');
    assertError(await checkAccount(token), 'RATE_LIMIT_EXCEEDED');
  });

  test('per client, not per token: a second token brings no second allowance', async () => {
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

  test("one client's requests leave another's allowance alone", async () => {
    const [one, other] = [
      await newClient('one', { 'check-status': 1 }),
      await newClient('other', { 'check-status': 1 }),
    ];
    await byPath(one.token);
    assertError(await byPath(one.token), 'RATE_LIMIT_EXCEEDED');
    assertError(await byPath(other.token), 'TRANSACTION_NOT_FOUND');
  });

  test('requests refused by the limit do not count', async () => {
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
  test('every authenticated answer tells the allowance, in exactly this form', async () => {
    const { token } = await newClient('informed');
    const expect = async (ask: Ask, status: number, policy: string, limit: string): Promise<void> => {
      const answer = await ask(token);
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

  test('t never exceeds the window, also where a sum of times rounds up', async () => {
    const { token } = await newClient('rounding', { 'check-status': 1 });
    let roundingMs = 2 ** 30 - 30_000;
    while (roundingMs + 60_000 - roundingMs <= 60_000) roundingMs += 0.000_1;
    clockMs = roundingMs;
    assert.equal((await byPath(token)).headers.get('ratelimit'), '"check-status";r=0;t=60');
    assert.equal((await byPath(token)).headers.get('retry-after'), '60');
  });

  test('FORBIDDEN tells the allowance too, and takes nothing from it', async () => {
    const { token } = await service.addClient('forbidden', ['account:check'], { 'check-status': 5 });
    for (let turn = 0; turn < 7; turn += 1) {
      const answer = await byPath(token);
      assertError(answer, 'FORBIDDEN');
      assert.equal(answer.headers.get('ratelimit'), '"check-status";r=5;t=0');
    }
  });

  test('an answer without an authenticated caller tells none', async () => {
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
  test('they hold instead of the common ones, and are told', async () => {
    const { token } = await newClient('special', { 'check-status': 300, 'check-account': 2 });
    assert.equal(admitted(await askMany(400, () => byPath(token))), 300);
    assert.equal(admitted(await askMany(10, () => checkAccount(token))), 2);
    assert.equal((await checkAccount(token)).headers.get('ratelimit-policy'), '"check-account";q=2;w=60');
  });

  test('a limit lowered while it is in use holds at once, and Retry-After says when enough has passed', async () => {
    const { clientId, token } = await newClient('lowered', { 'check-status': 10 });
    const startMs = clockMs;
    for (let turn = 0; turn < 10; turn += 1) {
      clockMs = startMs + turn * 1_000;
      await byPath(token);
    }
    await setClientLimits(service.app.database, clientId, { 'check-status': 3, 'check-account': null });
    const isLowered = ({ headers }: Answer): boolean => headers.get('ratelimit-policy') === '"check-status";q=3;w=60';
    const refused = await until(isLowered, () => byPath(token));
    assertError(refused, 'RATE_LIMIT_EXCEEDED');
    // Eight of the ten must leave before the third may come; the eighth came at 7 s.
    assert.equal(refused.headers.get('retry-after'), '58');
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
