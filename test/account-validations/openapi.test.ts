import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setClientLimits } from '../../apps/server/src/postgres/clients.ts';
import { judge } from '../support/described-answers.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { dataOf, type Validation, validationsOf } from './validations.ts';

/** The operations on account validations answer as the published description (/openapi.json) says. */

const ALL = '/api/v1/account-validations';
const ONE = `${ALL}/{validation_id}`;
const NONE = 'av_00000000000000000000';
const RUNNING_MAX = 10;
const JSON_TYPE = { 'content-type': 'application/json' };

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service?.close());

function assertDescribed([path, method, status, answer]: readonly [string, string, number, Answer]): void {
  const name = `${method} ${path} ${status}`;
  assert.equal(answer.status, status, `${name}: ${answer.text}`);
  const contentType = answer.headers.get('content-type');
  judge({ listener: 'public', method, path, status, contentType, text: answer.text });
}

test('each answer of each operation matches its description', async () => {
  const validations = validationsOf(service);
  const rows = [
    { bank_code: 'BCA', account_number: '1234567890', expected_account_name: 'Budi', reference: 'one' },
    { bank_code: 'BRI', account_number: '8260370404' },
    { bank_code: 'BRI', account_number: '8260370503' },
    { bank_code: '999', account_number: '1' },
  ];
  const created = await validations.sendRows(rows, { 'idempotency-key': 'first' });
  const id = dataOf<Validation>(created).validation_id;
  const running = await validations.read(id);
  await validations.untilEnded(id);
  const { token: unprivileged } = await service.addClient('unprivileged', ['status:read']);
  const get = (path: string, token: string | null) => service.get(path, { token });

  for (const each of [
    [ALL, 'post', 202, created],
    [ALL, 'post', 422, await validations.sendRows(rows.slice(1), { 'idempotency-key': 'first' })],
    [ALL, 'post', 400, await validations.sendRows([])],
    [ALL, 'post', 400, await validations.sendRows(rows, { 'idempotency-key': 'x'.repeat(129) })],
    [ALL, 'post', 415, await validations.post(ALL, 'x', { 'content-type': 'text/plain' })],
    [ALL, 'post', 415, await validations.post(ALL, 'x', { ...JSON_TYPE, 'content-encoding': 'gzip' })],
    [ALL, 'post', 413, await validations.post(ALL, Buffer.alloc(17 * 1024 * 1024, ' '), JSON_TYPE)],
    [ALL, 'get', 200, await get(ALL, service.alpha.token)],
    [ALL, 'get', 400, await get(`${ALL}?limit=0`, service.alpha.token)],
    [ALL, 'get', 401, await get(ALL, null)],
    [ALL, 'get', 403, await get(ALL, unprivileged)],
    [ONE, 'get', 200, running],
    [ONE, 'get', 200, await validations.read(id)],
    [ONE, 'get', 404, await validations.read(NONE)],
    [ONE, 'get', 404, await validations.read("av_'; drop table tiba.clients")],
    [ONE, 'get', 406, await validations.read(id, '', 'text/csv')],
    [`${ONE}/results`, 'get', 200, await validations.read(id, '/results')],
    [`${ONE}/results`, 'get', 400, await validations.read(id, '/results?follow=perhaps')],
    [`${ONE}/results`, 'get', 404, await validations.read(NONE, '/results', 'text/csv')],
    [`${ONE}/results`, 'get', 406, await validations.read(id, '/results', 'text/html')],
    [`${ONE}/cancel`, 'post', 200, await validations.cancel(id)],
    [`${ONE}/cancel`, 'post', 404, await validations.cancel(NONE)],
    ['/api/v1/events', 'get', 200, await get('/api/v1/events', service.alpha.token)],
  ] as const) {
    assertDescribed(each);
  }
});

test('at most ten validations of a client run at a time', async () => {
  const { clientId } = service.beta;
  const validations = validationsOf(service, service.beta);
  // Running validations that never end, because they have no rows.
  await service.app.database.query(
    `insert into tiba.account_validations (client_id, validation_id, row_count)
     select $1, 'av_' || lpad(to_hex(each), 20, '0'), 1 from generate_series(1, $2::int) as each`,
    [clientId, RUNNING_MAX],
  );
  assertDescribed([ALL, 'post', 409, await validations.sendRows([{ bank_code: 'BCA', account_number: '1234567890' }])]);
  await validations.cancel('av_00000000000000000001');
  const { status } = await validations.sendRows([{ bank_code: 'BCA', account_number: '1234567890' }]);
  assert.equal(status, 202);
});

test('at most ten times the accounts per day are stored as rows of a client', async () => {
  const client = await service.addClient('storing', ['account:check']);
  const storedMax = 10 * 6_000;
  await setClientLimits(service.app.database, client.clientId, { 'accounts-per-day': 6_000 });
  await service.app.clients.reload();
  await service.app.database.query(
    `insert into tiba.account_validations (client_id, validation_id, row_count, state, ended_at)
     values ($1, 'av_0000000000000000000a', $2, 'COMPLETED', now())`,
    [client.clientId, storedMax - 10],
  );
  const validations = validationsOf(service, client);
  // Without a bank, the rows end at once; they are stored all the same.
  const rows = (count: number) => Array.from({ length: count }, () => ({ bank_code: 'NONE', account_number: '1' }));
  assert.equal((await validations.sendRows(rows(11))).status, 409);
  assert.equal((await validations.sendRows(rows(9))).status, 202);
  const rejected = await validations.sendRows(rows(2));
  assertDescribed([ALL, 'post', 409, rejected]);
  assert.match(rejected.json.message, /more than 60000 rows/);
  assert.equal((await validations.sendRows(rows(1))).status, 202);
});

/**
 * Regression: each request counted before the others were stored, and 60 concurrent requests created 32 validations.
 */
test('concurrent requests do not exceed ten running validations, with or without an Idempotency-Key', async () => {
  const client = await service.addClient('concurrent', ['account:check']);
  const validations = validationsOf(service, client);
  // The bank does not answer, so the validations run for a while.
  const rows = [{ bank_code: 'BRI', account_number: '8260370504' }];
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      validations.sendRows(rows, index % 2 === 0 ? {} : { 'idempotency-key': `key-${index}` }),
    ),
  );
  const [{ count } = { count: 0 }] = await service.app.database.query<{ count: number }>(
    "select count(*)::int as count from tiba.account_validations where client_id = $1 and state = 'RUNNING'",
    [client.clientId],
  );
  assert.ok(count <= RUNNING_MAX, `${count} are running`);
  assert.ok(answers.filter(({ status }) => status === 202).length >= RUNNING_MAX);
  for (const answer of answers.filter(({ status }) => status !== 202)) assertDescribed([ALL, 'post', 409, answer]);
});
