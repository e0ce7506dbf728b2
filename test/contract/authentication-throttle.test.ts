import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Answer, send, startTestService, type TestService } from '../support/service.ts';
import { assertError } from './assertions.ts';

/** docs/contract.md 8.1: failed authentications are limited per address. */

const FAILURES = 5;
const WINDOW_MS = 60_000;

let service: TestService;
let clockMs = 5_000;
let addresses = 0;

before(async () => {
  service = await startTestService({
    limitClock: () => clockMs,
    settings: { authenticationFailuresPerMinute: FAILURES, trustedProxies: ['127.0.0.1'] },
  });
});
after(() => service?.close());

/** Each test uses an address of its own, reported by a trusted proxy. */
const newAddress = (): string => `192.0.2.${(addresses += 1)}`;

const checkStatus = (address: string, token: string | null): Promise<Answer> =>
  service.get('/api/v1/check-status/NONE', { token, headers: { 'x-forwarded-for': address } });

const post = (address: string, form: Readonly<Record<string, string>> | string): Promise<Answer> =>
  send(`${service.url}/oauth/token`, {
    method: 'POST',
    headers: { 'x-forwarded-for': address },
    body: new URLSearchParams(form),
  });

const login = (address: string, clientSecret: string): Promise<Answer> =>
  post(address, { grant_type: 'client_credentials', client_id: 'alpha', client_secret: clientSecret });

async function failUntilBlocked(address: string): Promise<void> {
  for (let turn = 0; turn < FAILURES; turn += 1) assertError(await checkStatus(address, `bad-${turn}`), 'UNAUTHORIZED');
}

test('after the limit of failures in a minute an address gets RATE_LIMIT_EXCEEDED with Retry-After', async () => {
  const address = newAddress();
  const startMs = clockMs;
  await failUntilBlocked(address);
  clockMs = startMs + 10_500;
  for (const token of ['bad', null]) {
    const answer = await checkStatus(address, token);
    assertError(answer, 'RATE_LIMIT_EXCEEDED');
    assert.equal(answer.headers.get('retry-after'), '50');
  }
});

test('a valid new token from a blocked address is not verified', async () => {
  const address = newAddress();
  await failUntilBlocked(address);
  const client = service.app.clients.find('alpha');
  assert.ok(client !== undefined);
  const token = await service.app.issue(client, ['status:read'], 900);
  assertError(await checkStatus(address, token), 'RATE_LIMIT_EXCEEDED');
  assertError(await checkStatus(newAddress(), token), 'TRANSACTION_NOT_FOUND');
});

test('other addresses, and a token that was verified before, are not blocked', async () => {
  const address = newAddress();
  assertError(await checkStatus(address, service.alpha.token), 'TRANSACTION_NOT_FOUND');
  await failUntilBlocked(address);
  assertError(await checkStatus(address, service.alpha.token), 'TRANSACTION_NOT_FOUND');
  assertError(await checkStatus(newAddress(), 'bad'), 'UNAUTHORIZED');
});

test('requests without a token count as failures', async () => {
  const address = newAddress();
  for (let turn = 0; turn < FAILURES; turn += 1) assertError(await checkStatus(address, null), 'UNAUTHORIZED');
  assertError(await checkStatus(address, null), 'RATE_LIMIT_EXCEEDED');
});

test('failures at the token endpoint and at the operations are counted together', async () => {
  const address = newAddress();
  for (let turn = 0; turn < FAILURES; turn += 1) assert.equal((await login(address, `wrong-${turn}`)).status, 401);
  const answer = await login(address, service.alpha.clientSecret);
  assert.equal(answer.status, 429);
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  assertError(await checkStatus(address, 'bad'), 'RATE_LIMIT_EXCEEDED');
  assert.equal((await login(newAddress(), service.alpha.clientSecret)).status, 200);
});

test('malformed token requests count like those with a wrong secret', async () => {
  const address = newAddress();
  for (let turn = 0; turn < FAILURES; turn += 1) assert.equal((await post(address, 'a&a')).status, 400);
  assert.equal((await login(address, service.alpha.clientSecret)).status, 429);
});

test('errors of an authenticated client do not count: others behind its address are not blocked', async () => {
  const address = newAddress();
  const good = { client_id: 'alpha', client_secret: service.alpha.clientSecret };
  for (let turn = 0; turn < FAILURES; turn += 1) {
    assert.equal((await post(address, good)).status, 400);
    assert.equal((await post(address, { ...good, grant_type: 'password' })).status, 400);
  }
  assert.equal((await login(address, service.alpha.clientSecret)).status, 200);
});

test('successes do not count', async () => {
  const address = newAddress();
  for (let turn = 0; turn < 2 * FAILURES; turn += 1)
    assertError(await checkStatus(address, service.alpha.token), 'TRANSACTION_NOT_FOUND');
  assertError(await checkStatus(address, 'bad'), 'UNAUTHORIZED');
});

test('the address is unblocked after a minute, and not before', async () => {
  const address = newAddress();
  const startMs = clockMs;
  await failUntilBlocked(address);
  clockMs = startMs + WINDOW_MS - 1;
  assertError(await checkStatus(address, 'bad'), 'RATE_LIMIT_EXCEEDED');
  clockMs = startMs + WINDOW_MS;
  assertError(await checkStatus(address, 'bad'), 'UNAUTHORIZED');
});

test('the log has one warning with the address, and one more a minute later', async () => {
  const address = newAddress();
  const warnings = (): number => service.logged.filter((line) => line['address'] === address).length;
  const startMs = clockMs;
  for (let turn = 0; turn < FAILURES; turn += 1) {
    assert.equal(warnings(), 0);
    clockMs += 1_000;
    assertError(await checkStatus(address, 'bad'), 'UNAUTHORIZED');
  }
  assert.equal(warnings(), 1);
  const line = service.logged.find((each) => each['address'] === address);
  assert.deepEqual([line?.['level'], line?.['failuresPerMinute']], [40, FAILURES]);
  // One failure after the other leaves the window, and each time one more request is admitted.
  for (let second = 1; second < FAILURES; second += 1) {
    clockMs = startMs + second * 1_000 + WINDOW_MS;
    assertError(await checkStatus(address, 'bad'), 'UNAUTHORIZED');
    assertError(await checkStatus(address, 'bad'), 'RATE_LIMIT_EXCEEDED');
    assert.equal(warnings(), 1);
  }
  clockMs = startMs + FAILURES * 1_000 + WINDOW_MS;
  assertError(await checkStatus(address, 'bad'), 'UNAUTHORIZED');
  assert.equal(warnings(), 2);
});
