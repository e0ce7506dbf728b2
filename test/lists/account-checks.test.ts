import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createAccountHash } from '../../apps/server/src/account-checks/account-hash.ts';
import { insertAccountChecks } from '../../apps/server/src/postgres/account-checks.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { assertError } from '../contract/assertions.ts';
import { dataKeyOf } from '../contract/tokens.ts';
import { eventually } from '../support/eventually.ts';
import { type RequestOptions, startTestService, type TestService } from '../support/service.ts';
import { ACCOUNT_CHECKS, type Page, type Parameters, pageOf, targetOf } from './list-requests.ts';

/** docs/contract.md 4.6: a client's own account checks, from the audit log. */

const bank: Rail = {
  name: 'bank',
  reaches: ({ bic }) => bic !== 'BRINIDJA',
  inquireAccount({ accountNumber }) {
    const railCode = '00';
    if (accountNumber.length === 9) return Promise.reject(new Error('a crash'));
    if (accountNumber.length === 8) return Promise.resolve({ kind: 'no_verdict', reason: 'timeout', railCode });
    if (accountNumber.length === 7)
      return Promise.resolve({ kind: 'verdict', verdict: { status: 'NOT_FOUND' }, railCode });
    return Promise.resolve({ kind: 'verdict', verdict: { status: 'ACTIVE', accountName: 'SITI AMINAH' }, railCode });
  },
  close: () => Promise.resolve(),
};

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [bank] });
});
after(() => service?.close());

type Check = Readonly<Record<string, unknown>>;

const list = async (parameters: Parameters = {}, options?: RequestOptions): Promise<Page<Check>> =>
  pageOf(await service.get(targetOf(ACCOUNT_CHECKS, parameters), options), 'account_checks');

async function check(bankCode: string, accountNumber: string, token = service.alpha.token): Promise<string> {
  const { headers } = await service.checkAccount({ bank_code: bankCode, account_number: accountNumber }, { token });
  return headers.get('x-request-id') ?? assert.fail();
}

const recorded = (count: number, token = service.alpha.token): Promise<void> =>
  eventually('the checks are recorded', async () => (await list({}, { token })).items.length === count);

test('each check is listed with its verdict or its error, the newest first, and without the account', async () => {
  const { token } = await service.addClient('history', ['account:check']);
  const requestIds = [
    await check('014', '1234567890', token),
    await check('cenaidjaxxx', '1234567890', token),
    await check('009', '1234567', token),
    await check('009', '12345678', token),
    await check('009', '123456789', token),
    await check('BRI', '123456789012345', token),
    await check('danamon uus', '7123456789', token),
  ];
  await recorded(requestIds.length, token);
  const { items, nextCursor } = await list({}, { token });
  assert.equal(nextCursor, null);
  assert.deepEqual(
    items
      .toReversed()
      .map(({ request_id: id, bank_code: code, status, error_code: error }) => [id, code, status, error]),
    [
      [requestIds[0], '014', 'ACTIVE', null],
      [requestIds[1], '014', 'ACTIVE', null],
      [requestIds[2], '009', 'NOT_FOUND', null],
      [requestIds[3], '009', null, 'SERVICE_UNAVAILABLE'],
      [requestIds[4], '009', null, 'INTERNAL_ERROR'],
      [requestIds[5], '002', null, 'UNSUPPORTED_BANK'],
      [requestIds[6], 'SYBDIDJ1', 'ACTIVE', null],
    ],
  );
  for (const item of items) {
    assert.deepEqual(Object.keys(item), [
      'checked_at',
      'bank_code',
      'bank_name',
      'status',
      'error_code',
      'age_seconds',
      'request_id',
    ]);
  }
  assert.ok(!JSON.stringify(items).includes('1234567'));
});

test('the checks of an account are found at one bank or at all, by any code, and a check by its request ID', async () => {
  const { token } = await service.addClient('finder', ['account:check']);
  const bca = await check('BCA', '5550001112', token);
  const bni = await check('009', '5550001112', token);
  await check('009', '5550001113', token);
  await recorded(3, token);
  const find = async (parameters: Parameters): Promise<unknown[]> =>
    (await list(parameters, { token })).items.map(({ request_id: id }) => id);
  assert.deepEqual(await find({ account_number: '5550001112' }), [bni, bca]);
  assert.deepEqual(await find({ account_number: '5550001112', bank_code: 'cenaidja' }), [bca]);
  assert.deepEqual(await find({ account_number: '5550001112', bank_code: '008' }), []);
  assert.deepEqual(await find({ account_number: '05550001112' }), []);
  assert.deepEqual(await find({ request_id: bni }), [bni]);
  assert.deepEqual(await find({ request_id: bni, account_number: '5550001113' }), []);
  assert.deepEqual(await find({ request_id: 'none' }), []);
  const [{ checked_at: at } = assert.fail()] = (await list({ request_id: bni }, { token })).items;
  const next = new Date(Date.parse(String(at)) + 1).toISOString();
  assert.deepEqual(await find({ request_id: bni, checked_from: String(at), checked_to: next }), [bni]);
  assert.deepEqual(await find({ request_id: bni, checked_to: String(at) }), []);
  assert.deepEqual(await find({ request_id: bni, checked_from: next }), []);
  // Another client finds none of them, whatever it knows.
  for (const parameters of [{ account_number: '5550001112' }, { request_id: bni }]) {
    assert.deepEqual((await list(parameters, { token: service.beta.token })).items, []);
  }
});

test('pages neither repeat nor skip a check, of an account or of all, also when many have the same time', async () => {
  const { token } = await service.addClient('many', ['account:check']);
  const hash = createAccountHash(await dataKeyOf(service));
  const banks = ['CENAIDJA', 'BMRIIDJA', 'BNINIDJA'];
  const records = Array.from({ length: 300 }, (_, index) => ({
    client_id: 'many',
    checked_at: new Date(Date.parse('2026-11-01T00:00:00Z') + Math.floor(index / 7)).toISOString(),
    bic: banks[index % 3] ?? '',
    account_hash: hash(banks[index % 3] ?? '', index % 2 === 0 ? '1112223334' : '1112223335'),
    outcome: 'ACTIVE',
    rail: 'bank',
    age_seconds: null,
    request_id: `request ${index}`,
  }));
  // An ID may be larger than a number of JavaScript is exact.
  await insertAccountChecks(service.app.database, Number.MAX_SAFE_INTEGER - records.length, records);
  async function walk(parameters: Parameters): Promise<unknown[]> {
    const ids: unknown[] = [];
    let target: string | null = targetOf(ACCOUNT_CHECKS, parameters);
    while (target !== null) {
      const page: Page<Check> = pageOf(await service.get(target, { token }), 'account_checks');
      ids.push(...page.items.map(({ request_id: id }) => id));
      target = page.link;
    }
    return ids;
  }
  const expected = (matches: (index: number) => boolean): string[] =>
    records.flatMap(({ request_id: id }, index) => (matches(index) ? [id] : [])).toReversed();
  assert.deepEqual(
    await walk({ limit: '11' }),
    expected(() => true),
  );
  assert.deepEqual(
    await walk({ limit: '11', account_number: '1112223334' }),
    expected((index) => index % 2 === 0),
  );
  assert.deepEqual(
    await walk({ limit: '7', account_number: '1112223335', bank_code: 'MANDIRI' }),
    expected((index) => index % 2 === 1 && index % 3 === 1),
  );
  const cursor = (await list({ limit: '1' }, { token })).nextCursor ?? assert.fail();
  const wrong = await service.get(targetOf(ACCOUNT_CHECKS, { cursor, account_number: '1112223334' }), { token });
  assertError(wrong, 'INVALID_REQUEST', /cursor must be the next_cursor/);
});

test('an earlier verdict has its age, a restricted check its error, and a row of a validation no request ID', async () => {
  const { token } = await service.addClient('restricted', ['account:check']);
  const check = (outcome: string, age_seconds: string | null, request_id: string | null) => ({
    client_id: 'restricted',
    checked_at: '2026-11-01T00:00:00.000Z',
    bic: 'CENAIDJA',
    account_hash: createAccountHash(Buffer.alloc(32, 7))('CENAIDJA', '1112223334'),
    outcome,
    rail: null,
    age_seconds,
    request_id,
  });
  await insertAccountChecks(service.app.database, 1, [
    check('BLOCKED', '42', 'earlier'),
    check('ACTIVE', null, null),
    check('accounts_per_day', null, 'one'),
    check('sequential_numbers', null, 'two'),
    check('not_found_ratio', null, 'three'),
    check('clustered_numbers', null, 'four'),
  ]);
  const { items } = await list({}, { token });
  assert.deepEqual(
    items
      .toReversed()
      .map(({ status, error_code: error, age_seconds: age, request_id: id }) => [status, error, age, id]),
    [
      ['BLOCKED', null, 42, 'earlier'],
      ['ACTIVE', null, null, null],
      [null, 'RATE_LIMIT_EXCEEDED', null, 'one'],
      [null, 'RATE_LIMIT_EXCEEDED', null, 'two'],
      [null, 'RATE_LIMIT_EXCEEDED', null, 'three'],
      [null, 'RATE_LIMIT_EXCEEDED', null, 'four'],
    ],
  );
});

test('a wrong parameter is refused with its name and what it must be; the scope is account:check', async () => {
  const wrong: [string, RegExp][] = [
    ['bank_code=014', /bank_code needs account_number/],
    ['account_number=12', /account_number must be the whole account number/],
    ['request_id=', /request_id must be the X-Request-Id/],
    ['request_id=%00', /request_id must be/],
    ['checked_from=today', /checked_from must be a time with its zone/],
    ['checked_from=2026-11-21T00:00:01Z&checked_to=2026-11-21T00:00:00Z', /checked_from must be before checked_to/],
    ['limit=201', /limit must be a whole number from 1 to 200/],
    ['status=ACTIVE', /it has account_number, bank_code, request_id/],
    ['cursor=x', /cursor must be/],
  ];
  for (const [query, message] of wrong) {
    assertError(await service.get(`${ACCOUNT_CHECKS}?${query}`), 'INVALID_REQUEST', message);
  }
  assertError(await service.get(`${ACCOUNT_CHECKS}?account_number=12345&bank_code=999`), 'INVALID_BANK_CODE');
  const { token } = await service.addClient('no-checks', ['transactions:read']);
  assertError(await service.get(ACCOUNT_CHECKS, { token }), 'FORBIDDEN', /account:check/);
  const { headers } = await service.get(ACCOUNT_CHECKS);
  assert.match(headers.get('ratelimit-policy') ?? '', /^"account-checks";q=\d+;w=60$/);
});
