import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Answer, send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { exchange, exchangeOne, rawRequest } from './raw-connection.ts';

/**
 * The log has no personal data and no secrets. These tests search it for the account numbers, names and tokens of the
 * requests and answers.
 */

const ACCOUNTS = ['7391046528', '0082736451902', '5719463820', '6482951730404', '864209', '9150273846'];
const NAMES = ['SITI RAHMAWATI KUSUMA', 'BUDIMAN WIJAYAKUSUMO'];
const REFERENCE = 'PAYROLL-SITI-RAHMAWATI-7391046528';
const SECRETS = ['sekret-that-must-not-be-logged', 'eyJhbGciOiJub25lIn0.c2VrcmV0.'];

let service: TestService;
/** Every answer of the public listener, for its request ID and the names in it. */
const answers: Answer[] = [];

before(async () => {
  service = await startTestService();
  await sendRequests();
});
after(() => service?.close());

async function sendRequests(): Promise<void> {
  const [account = '', other = ''] = ACCOUNTS;
  await service.feed([
    statusUpdate({ account_number: account, account_name: NAMES[0], reference_id: REFERENCE }),
    statusUpdate({
      transaction_id: 'TB0000000002',
      reference_id: 'other',
      account_number: other,
      account_name: NAMES[1],
    }),
    // A conflict, a rejected update and an unreadable one: the reasons must not quote them.
    statusUpdate({ account_number: ACCOUNTS[2], account_name: NAMES[1] }),
    statusUpdate({ transaction_id: 'TB0000000003', account_number: `${ACCOUNTS[3]}x`, account_name: NAMES[0] }),
    { transaction_id: 'TB0000000004', client_id: 'alpha', account_number: account },
  ]);
  await service.feed(`{"account_name":"${NAMES[0]}","account_number":"${account}"\n`);

  const reference = encodeURIComponent(REFERENCE);
  answers.push(
    await service.get(`/api/v1/check-status/${reference}`),
    await service.get(`/api/v1/check-status?reference_id=${reference}`),
    await service.get(`/api/v1/check-status/${account}`),
    await service.get(`/api/v1/check-status/%ZZ${account}`),
    await service.get(`/unknown/${account}?access_token=${service.alpha.token}`),
    await service.get('/api/v1/check-status/X', { token: SECRETS[0] ?? '' }),
    await service.get('/api/v1/check-status/X', { token: SECRETS[1] ?? '' }),
    await service.get('/api/v1/check-status/X', { method: 'DELETE' }),
    await service.get('/api/v1/check-status/X', { headers: { accept: `text/${account}` } }),
  );
  for (const account_number of ACCOUNTS) {
    for (const bank_code of ['014', '009']) answers.push(await service.checkAccount({ bank_code, account_number }));
  }
  for (const ending of ['0503', '0500', '0429', '0403']) {
    answers.push(await service.checkAccount({ bank_code: '014', account_number: `739104${ending}` }));
  }
  answers.push(
    await service.checkAccount(`{"bank_code":"014","account_number":"${account}"`),
    await service.checkAccount({ bank_code: account, account_number: account }),
    await service.checkAccount({ bank_code: '014', account_number: Number(account) }),
    await service.checkAccount({ bank_code: '014', account_number: `${account}x`, account_name: NAMES[0] }),
  );
  await sendOtherRequests(account);
}

async function sendOtherRequests(account: string): Promise<void> {
  const form = (client_secret: string): Promise<Answer> =>
    send(`${service.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'alpha', client_secret }),
    });
  answers.push(
    await form(SECRETS[0] ?? ''),
    await form(service.alpha.clientSecret),
    await exchangeOne(service.url, `GARBAGE ${account} ${service.alpha.token}\r\n\r\n`),
    await exchangeOne(service.url, rawRequest('GET', '/', { headers: { 'x-filler': account.repeat(2_000) } })),
  );
  const pipelined = rawRequest('GET', `/api/v1/check-status/${account}`, {
    headers: { authorization: `Bearer ${service.beta.token}` },
  });
  answers.push(...(await exchange(service.url, Buffer.concat([pipelined, pipelined]), 2)));
}

const log = (): string => service.logged.map((line) => JSON.stringify(line)).join('\n');

/** Five digits in a row are enough to identify an account; the last four may be logged. */
const digitRuns = (account: string): string[] =>
  Array.from({ length: Math.max(account.length - 4, 1) }, (_, start) => account.slice(start, start + 5));

/** Digits of the clock, of the kernel and of chance, which may be those of an account. */
const OWN_FIELDS = new Set(['time', 'durationMs', 'requestId', 'publicUrl', 'operatorUrl']);

// Regression: the time of a line had five digits of an account.
test('the log has no account number, nor five digits in a row of one', () => {
  for (const logged of service.logged) {
    const line = JSON.stringify(logged, (name, value: unknown) => (OWN_FIELDS.has(name) ? undefined : value));
    for (const account of ACCOUNTS) {
      for (const run of digitRuns(account)) assert.ok(!line.includes(run), `${run} of ${account}: ${line}`);
    }
  }
});

test('the log has at most the last four digits of an account number', () => {
  const logged = service.logged.map((line) => line['account']).filter((account) => account !== undefined);
  assert.ok(logged.length >= ACCOUNTS.length);
  for (const account of logged) assert.match(JSON.stringify(account), /^"\*+\d{2,4}"$/);
});

test('the log has no name of an account holder, neither from the feed nor from the bank', () => {
  const given = answers.map(({ json }) => json.data?.['account_name']).filter((name) => typeof name === 'string');
  assert.ok(given.length > NAMES.length);
  for (const name of [...NAMES, ...given, ...NAMES.flatMap((each) => each.split(' '))]) {
    assert.ok(!log().includes(name), name);
  }
});

test('the log has no token, no secret and no reference ID', () => {
  const tokens = answers.flatMap(({ text }) => /"access_token":"([^"]+)"/.exec(text)?.[1] ?? []);
  assert.equal(tokens.length, 1);
  const { alpha, beta, core } = service;
  const clients = [alpha, beta, core].flatMap(({ token, clientSecret }) => [token, clientSecret]);
  for (const secret of [...clients, ...tokens, ...SECRETS]) {
    assert.ok(!log().includes(secret));
    // The signature alone is as sensitive as the whole token.
    assert.ok(!log().includes(secret.split('.').findLast((part) => part !== '') ?? secret));
  }
  assert.ok(!log().includes(REFERENCE));
});

test('every request has exactly one line in the access log, with the ID of its X-Request-Id header', () => {
  const lines = service.logged.filter((line) => line['listener'] === 'public');
  const ids = lines.map((line) => line['requestId']);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(new Set(ids), new Set(answers.map(({ headers }) => headers.get('x-request-id'))));
  for (const { status, json, headers } of answers) {
    const line = lines.find((each) => each['requestId'] === headers.get('x-request-id'));
    assert.equal(line?.['status'], status);
    assert.equal(line['errorCode'], json.error_code);
  }
});
