import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Answer, send, startTestService, type TestService } from '../support/service.ts';
import { assertError } from './assertions.ts';
import { unsignedToken, validClaims } from './tokens.ts';

/** docs/contract.md 8.1: failed authentications are limited per client and address, and right credentials are not. */

const FAILURES = 5;
const WINDOW_MS = 60_000;

let service: TestService;
let clockMs = 5_000;
let addresses = 0;

before(async () => {
  service = await startTestService({
    limitClock: () => clockMs,
    settings: {
      authenticationFailuresPerMinute: FAILURES,
      trustedProxies: ['127.0.0.1'],
      operatorTrustedProxies: ['127.0.0.1'],
    },
  });
});
after(() => service?.close());

/** Each test uses an address of its own, reported by a trusted proxy. */
const newAddress = (): string => `192.0.2.${(addresses += 1)}`;

const checkStatus = (address: string, token: string | null): Promise<Answer> =>
  service.get('/api/v1/check-status/NONE', { token, headers: { 'x-forwarded-for': address } });

/** A token that names the client and is not valid. */
const forgedToken = (clientId: string): string =>
  unsignedToken(validClaims(service.url, clientId), { alg: 'EdDSA', typ: 'at+jwt' }, 'forged');

const newToken = async (clientId: string): Promise<string> => {
  const client = service.app.clients.find(clientId);
  assert.ok(client !== undefined);
  return service.app.issue(client, ['status:read'], 900);
};

const post = (address: string, form: Readonly<Record<string, string>> | string, url = service.url): Promise<Answer> =>
  send(`${url}/oauth/token`, {
    method: 'POST',
    headers: { 'x-forwarded-for': address },
    body: new URLSearchParams(form),
  });

const login = (address: string, clientSecret: string, clientId = 'alpha'): Promise<Answer> =>
  post(address, { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret });

/** Regression: callers of the operator listener, who need no proxy, chose the address by which they are counted. */
test('an X-Forwarded-For from a proxy of clients counts for nothing on the operator listener', async () => {
  const settings = { authenticationFailuresPerMinute: 1, trustedProxies: ['127.0.0.1'] };
  const other = await startTestService({ rails: [], settings });
  try {
    const form = { grant_type: 'client_credentials', client_id: 'alpha', client_secret: 'wrong' };
    const statuses = async (url: string): Promise<number[]> => [
      (await post(newAddress(), form, url)).status,
      (await post(newAddress(), form, url)).status,
    ];
    assert.deepEqual(await statuses(other.url), [401, 401]);
    assert.deepEqual(await statuses(other.operatorUrl), [401, 429]);
  } finally {
    await other.close();
  }
});

test('failed logins at both listeners count together', async () => {
  const address = newAddress();
  await failLoginsUntilThrottled(address);
  const answer = await post(
    address,
    { grant_type: 'client_credentials', client_id: 'alpha', client_secret: 'x' },
    service.operatorUrl,
  );
  assert.equal(answer.status, 429, answer.text);
});

async function failUntilThrottled(address: string, token = 'bad'): Promise<void> {
  for (let turn = 0; turn < FAILURES; turn += 1) assertError(await checkStatus(address, token), 'UNAUTHORIZED');
  assertError(await checkStatus(address, token), 'RATE_LIMIT_EXCEEDED');
}

async function failLoginsUntilThrottled(address: string, clientId = 'alpha'): Promise<void> {
  for (let turn = 0; turn < FAILURES; turn += 1)
    assert.equal((await login(address, `wrong-${turn}`, clientId)).status, 401);
  assert.equal((await login(address, 'wrong', clientId)).status, 429);
}

test('after the limit of failures in a minute the next failure gets RATE_LIMIT_EXCEEDED with Retry-After', async () => {
  const address = newAddress();
  const startMs = clockMs;
  await failUntilThrottled(address);
  clockMs = startMs + 10_500;
  for (const token of ['bad', null]) {
    const answer = await checkStatus(address, token);
    assertError(answer, 'RATE_LIMIT_EXCEEDED');
    assert.equal(answer.headers.get('retry-after'), '50');
  }
});

test('a right secret and a valid token, new or seen before, are accepted whatever failed from the address', async () => {
  // Regression: failed logins from an address refused everyone behind it for a minute.
  const address = newAddress();
  const seen = await newToken('alpha');
  assertError(await checkStatus(address, seen), 'TRANSACTION_NOT_FOUND');
  await failUntilThrottled(address);
  await failUntilThrottled(address, forgedToken('alpha'));
  assert.equal((await login(address, 'wrong')).status, 429);
  for (let turn = 0; turn < 2 * FAILURES; turn += 1) {
    const { status, text } = await login(address, service.alpha.clientSecret);
    assert.equal(status, 200);
    for (const token of [seen, await newToken('alpha'), JSON.parse(text).access_token])
      assertError(await checkStatus(address, token), 'TRANSACTION_NOT_FOUND');
  }
  assertError(await checkStatus(address, forgedToken('alpha')), 'RATE_LIMIT_EXCEEDED');
});

test('failures of one client do not throttle another one behind the same address', async () => {
  // 429 instead of 401 would keep a client whose token has expired from obtaining a new one.
  const address = newAddress();
  await failLoginsUntilThrottled(address, 'alpha');
  await failUntilThrottled(address);
  assertError(await checkStatus(address, forgedToken('beta')), 'UNAUTHORIZED');
  assert.equal((await login(address, 'wrong', 'beta')).status, 401);
});

test('client IDs that do not exist are throttled like those that exist: nothing reveals which do', async () => {
  const address = newAddress();
  await failLoginsUntilThrottled(address, 'no-such-client');
  await failLoginsUntilThrottled(address, 'alpha');
});

test('IDs that an attacker makes up are counted in a limited number of groups', async () => {
  const address = newAddress();
  let turns = 0;
  while ((await login(address, 'wrong', `made-up-${turns}`)).status === 401) turns += 1;
  assert.ok(turns <= 256 * FAILURES, `${turns} failures`);
});

test('other addresses, and a token that was verified before, are not throttled', async () => {
  const address = newAddress();
  assertError(await checkStatus(address, service.alpha.token), 'TRANSACTION_NOT_FOUND');
  await failUntilThrottled(address);
  assertError(await checkStatus(address, service.alpha.token), 'TRANSACTION_NOT_FOUND');
  assertError(await checkStatus(newAddress(), 'bad'), 'UNAUTHORIZED');
});

/** Regression: the owner of one IPv6 network had 2^64 addresses, and as many times the limit. */
test('an IPv6 network of one client counts as one address, and the log has the whole address', async () => {
  const inNetwork = (network: string, host: number): string => `2001:db8:1:${network}::${host}`;
  for (let host = 1; host <= FAILURES; host += 1)
    assertError(await checkStatus(inNetwork('a', host), 'bad'), 'UNAUTHORIZED');
  assertError(await checkStatus(inNetwork('a', FAILURES + 1), 'bad'), 'RATE_LIMIT_EXCEEDED');
  assertError(await checkStatus(inNetwork('b', 1), 'bad'), 'UNAUTHORIZED');
  const warned = service.logged.filter((line) => String(line['address']).startsWith('2001:db8:1:'));
  assert.deepEqual(
    warned.map((line) => line['address']),
    [inNetwork('a', FAILURES)],
  );
});

test('requests without a token count as failures', async () => {
  const address = newAddress();
  for (let turn = 0; turn < FAILURES; turn += 1) assertError(await checkStatus(address, null), 'UNAUTHORIZED');
  assertError(await checkStatus(address, null), 'RATE_LIMIT_EXCEEDED');
});

test('failures at the token endpoint and at the operations are counted together', async () => {
  const address = newAddress();
  for (let turn = 0; turn < FAILURES; turn += 1) assert.equal((await login(address, `wrong-${turn}`)).status, 401);
  const answer = await login(address, 'wrong');
  assert.equal(answer.status, 429);
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  assertError(await checkStatus(address, forgedToken('alpha')), 'RATE_LIMIT_EXCEEDED');
  assert.equal((await login(newAddress(), 'wrong')).status, 401);
});

test('malformed token requests count like those with a wrong secret', async () => {
  const address = newAddress();
  for (let turn = 0; turn < FAILURES; turn += 1) assert.equal((await post(address, 'a&a')).status, 400);
  assert.equal((await post(address, 'a&a')).status, 429);
  assertError(await checkStatus(address, null), 'RATE_LIMIT_EXCEEDED');
});

test('errors of an authenticated client do not count', async () => {
  const address = newAddress();
  const good = { client_id: 'alpha', client_secret: service.alpha.clientSecret };
  for (let turn = 0; turn < FAILURES; turn += 1) {
    assert.equal((await post(address, good)).status, 400);
    assert.equal((await post(address, { ...good, grant_type: 'password' })).status, 400);
  }
  assert.equal((await login(address, service.alpha.clientSecret)).status, 200);
  assert.equal((await login(address, 'wrong')).status, 401);
});

test('successes do not count', async () => {
  const address = newAddress();
  for (let turn = 0; turn < 2 * FAILURES; turn += 1)
    assertError(await checkStatus(address, service.alpha.token), 'TRANSACTION_NOT_FOUND');
  assertError(await checkStatus(address, 'bad'), 'UNAUTHORIZED');
});

test('failures are answered with 401 again after a minute, and not before', async () => {
  const address = newAddress();
  const startMs = clockMs;
  await failUntilThrottled(address);
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
