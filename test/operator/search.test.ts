import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { logIn } from './browser.ts';

/** GET /operator/v1/transactions: from what a customer sent to the transaction. */

let service: TestService;
let sql: pg.Client;
let token: string;

const DAY = '2026-05-21';
const CREATED = { created_at: '2026-05-21T04:32:26.123Z' };
const now = new Date();

const UPDATES = [
  statusUpdate({
    ...CREATED,
    rail: 'bank-one',
    rail_reference: 'RAIL-1',
    bank_reference: 'BANKREF-1',
    external_id: '418075',
    account_number: '9990001111',
  }),
  // The rail reference is the transaction ID, and the same reference ID as the client before.
  statusUpdate({
    client_id: 'beta',
    transaction_id: 'TB0000000002',
    rail: 'bank-one',
    rail_reference: 'TB0000000002',
    account_number: '9990001111',
    amount: '77000.00',
    created_at: '2026-05-21T05:00:00.000Z',
    status: 'FAILED',
    failure_reason: 'CANCELLED',
  }),
  statusUpdate({
    transaction_id: 'TB0000000003',
    reference_id: 'REF-3',
    rail: 'bank-one',
    rail_reference: 'REF-3',
    amount: '88123.00',
    account_number: '5554443332',
    created_at: now.toISOString(),
  }),
  // Its account number is the amount of the one before.
  statusUpdate({
    transaction_id: 'TB0000000004',
    reference_id: 'REF-4',
    amount: '1000.00',
    account_number: '88123',
    status: 'SUCCESS',
    created_at: '2026-05-20T17:00:00.000Z',
  }),
];

before(async () => {
  service = await startTestService();
  sql = new pg.Client(service.database.connection);
  await sql.connect();
  ({ token } = await service.addClient('operator', ['operator:read']));
  assertSuccess(await service.feed(UPDATES));
});
after(async () => {
  await sql?.end();
  await service?.close();
});

const search = (parameters: Record<string, string>, bearer = token): Promise<Answer> =>
  send(`${service.operatorUrl}/operator/v1/transactions?${new URLSearchParams(parameters).toString()}`, {
    headers: { authorization: `Bearer ${bearer}` },
  });

interface Result {
  readonly found_by: string | null;
  readonly also_found_by: readonly string[];
  readonly transactions: readonly Record<string, unknown>[];
  readonly account_checks: readonly Record<string, unknown>[];
  readonly next_cursor: string | null;
}

const resultOf = async (parameters: Record<string, string>): Promise<Result> =>
  assertSuccess(await search(parameters)) as unknown as Result;

const idsOf = ({ transactions }: Result): unknown[] => transactions.map((each) => each['transaction_id']);

for (const [parameters, ids, foundBy] of [
  [{ q: 'TB0000000001' }, ['TB0000000001'], 'identifier'],
  [{ q: ' tb0000000001' }, ['TB0000000001'], 'identifier'],
  [{ q: 'INV/2026/001' }, ['TB0000000002', 'TB0000000001'], 'identifier'],
  [{ q: 'INV/2026/001', client_id: 'beta' }, ['TB0000000002'], 'identifier'],
  [{ q: 'RAIL-1' }, ['TB0000000001'], 'identifier'],
  [{ q: 'BANKREF-1' }, ['TB0000000001'], 'identifier'],
  [{ q: '418075' }, ['TB0000000001'], 'identifier'],
  [{ q: '999-000-1111' }, ['TB0000000002', 'TB0000000001'], 'account_number'],
  [{ q: '9990001111', status: 'FAILED' }, ['TB0000000002'], 'account_number'],
  [{ q: '9990001111', amount: '150000' }, ['TB0000000001'], 'account_number'],
  [{ q: 'Rp 88.123' }, ['TB0000000003'], 'amount'],
  [{ q: 'Rp 77.000', day: DAY }, ['TB0000000002'], 'amount'],
  [{ q: 'nothing' }, [], null],
  [{ transaction_id: 'TB0000000002' }, ['TB0000000002'], 'filters'],
  [{ reference_id: 'REF-3' }, ['TB0000000003'], 'filters'],
  [{ rail_reference: 'RAIL-1' }, ['TB0000000001'], 'filters'],
  [{ rail_reference: 'TB0000000002' }, ['TB0000000002'], 'filters'],
  [{ rail_reference: 'REF-3' }, ['TB0000000003'], 'filters'],
  [{ bank_reference: 'BANKREF-1' }, ['TB0000000001'], 'filters'],
  [{ external_id: '418075' }, ['TB0000000001'], 'filters'],
  [{ account_number: '9990001111', day: DAY, amount: '77000' }, ['TB0000000002'], 'filters'],
  [{ amount: '77000', day: DAY }, ['TB0000000002'], 'filters'],
  [{ amount: '77000', day: DAY, client_id: 'alpha' }, [], 'filters'],
  [{ amount: '77000' }, [], 'filters'],
  [{ day: DAY }, ['TB0000000002', 'TB0000000001', 'TB0000000004'], 'filters'],
  [{ day: DAY, client_id: 'alpha' }, ['TB0000000001', 'TB0000000004'], 'filters'],
  [{ day: DAY, client_id: 'alpha', status: 'SUCCESS' }, ['TB0000000004'], 'filters'],
  [{ day: DAY, status: 'FAILED', bank_code: 'BCA' }, ['TB0000000002'], 'filters'],
  [{ day: DAY, bank_code: 'BRI' }, [], 'filters'],
] as const) {
  test(`${JSON.stringify(parameters)} finds ${ids.join(', ') || 'nothing'}`, async () => {
    const result = await resultOf(parameters);
    assert.deepEqual(idsOf(result), ids);
    assert.equal(result.found_by, foundBy);
  });
}

test('a number that is an account and an amount says so', async () => {
  const result = await resultOf({ q: '88123' });
  assert.deepEqual(
    [result.found_by, idsOf(result), result.also_found_by],
    ['account_number', ['TB0000000004'], ['amount']],
  );
});

test('overdue transactions of all clients are found, and of one', async () => {
  await sql.query("update tiba.transactions set overdue_since = now() where transaction_id = 'TB0000000001'");
  assert.deepEqual(idsOf(await resultOf({ overdue: 'true' })), ['TB0000000001']);
  assert.deepEqual(idsOf(await resultOf({ overdue: 'true', client_id: 'alpha', amount: '150000' })), ['TB0000000001']);
  assert.deepEqual(idsOf(await resultOf({ overdue: 'true', client_id: 'beta' })), []);
  assert.deepEqual(idsOf(await resultOf({ overdue: 'false', q: '9990001111' })), ['TB0000000002']);
});

test('the request ID of an account check finds the check, and what was paid after it', async () => {
  const account = { bank_code: '014', account_number: '1234567890' };
  const checked = await service.checkAccount(account);
  assertSuccess(checked);
  const requestId = checked.headers.get('x-request-id') ?? assert.fail('no request ID');
  const createdAt = new Date(Date.now() + 60_000).toISOString();
  const paid = { ...account, transaction_id: 'TB0000000005', reference_id: 'REF-5', created_at: createdAt };
  const other = { ...paid, account_number: '1234567891', transaction_id: 'TB0000000006', reference_id: 'REF-6' };
  assertSuccess(await service.feed([statusUpdate(paid), statusUpdate(other)]));
  // Audit records are written after the answer.
  await eventually('the check is found', async () => (await resultOf({ q: requestId })).account_checks.length === 1);
  const result = await resultOf({ q: requestId });
  assert.equal(result.found_by, 'request_id');
  assert.equal(result.account_checks[0]?.['client_id'], 'alpha');
  assert.deepEqual(idsOf(result), ['TB0000000005']);
  assert.deepEqual((await resultOf({ request_id: requestId })).account_checks, result.account_checks);
});

test('account numbers and names are masked, and amounts are exact', async () => {
  const { text } = await search({ q: '9990001111', client_id: 'alpha' });
  assert.match(text, /"account_number":"\*{6}1111","account_name":"B\*{3} S\*{6}"/);
  assert.match(text, /"amount":150000\.00,"fee":2500\.00,"total_amount":152500\.00/);
  assert.doesNotMatch(text, /9990001111|BUDI/);
  assert.ok(!JSON.stringify(service.logged).includes('9990001111'));
});

test('pages neither repeat nor skip, also where many were created at the same time', async () => {
  const many = Array.from({ length: 23 }, (_, index) =>
    statusUpdate({
      transaction_id: `TM${String(index).padStart(8, '0')}`,
      reference_id: `many-${index}`,
      account_number: '3332221110',
      amount: String(1_000 + (index % 3)),
      created_at: index < 15 ? '2025-10-01T00:00:00Z' : `2025-10-0${(index % 3) + 1}T00:00:00Z`,
    }),
  );
  assertSuccess(await service.feed(many));
  for (const parameters of [
    { account_number: '3332221110' },
    { q: '3332221110' },
    { created_from: '2025-09-30T00:00:00Z', created_to: '2025-10-05T00:00:00Z' },
    { client_id: 'alpha', created_from: '2025-09-30T00:00:00Z', created_to: '2025-10-05T00:00:00Z' },
  ]) {
    const ids: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page: Result = await resultOf({ ...parameters, limit: '4', ...(cursor === null ? {} : { cursor }) });
      ids.push(...idsOf(page));
      cursor = page.next_cursor;
    } while (cursor !== null);
    assert.equal(ids.length, 23, JSON.stringify(parameters));
    assert.equal(new Set(ids).size, 23);
  }
  // An amount is searched a week at a time.
  const amounts: unknown[] = [];
  const range = { amount: '1001', created_from: '2025-09-01T00:00:00Z', created_to: '2025-10-05T00:00:00Z' };
  let cursor: string | null = null;
  do {
    const page: Result = await resultOf({ ...range, limit: '3', ...(cursor === null ? {} : { cursor }) });
    amounts.push(...idsOf(page));
    cursor = page.next_cursor;
  } while (cursor !== null);
  const expected = many.filter(({ amount }) => amount === '1001').map((each) => each['transaction_id']);
  assert.equal(amounts.length, expected.length);
  assert.deepEqual(new Set(amounts), new Set(expected));
});

test('a person searches by account numbers at most 60 times an hour, so that none is guessed', async () => {
  const viewer = await logIn(service, { subject: 'viewer@example.com', name: 'Vina', role: 'viewer' });
  const guesses: ((digits: string) => Promise<Answer>)[] = [
    (digits) => viewer.get(`transactions?client_id=alpha&account_number=${digits}`),
    (digits) => viewer.get(`transactions?q=${digits}`),
    (digits) => viewer.get(`transactions?transaction_id=TB0000000001&account_number=${digits}`),
    (digits) => viewer.act('POST', 'account-checks/search', { bank_code: 'BCA', account_number: digits }),
  ];
  const guess = (index: number) => guesses[index % guesses.length]?.(String(9_990_001_000 + index)) ?? assert.fail();
  for (let index = 0; index < 60; index += 1) assertSuccess(await guess(index));
  for (let index = 60; index < 64; index += 1) {
    const refused = await guess(index);
    assertError(refused, 'RATE_LIMIT_EXCEEDED', /At most 60 searches by an account number in an hour/);
    const retryAfter = Number(refused.headers.get('retry-after'));
    assert.ok(retryAfter > 3_000 && retryAfter <= 3_600, String(retryAfter));
  }
  assertSuccess(await viewer.get('transactions?q=TB0000000001'));
  assertSuccess(await viewer.act('POST', 'account-checks/search', { client_id: 'alpha' }));
  const other = await logIn(service, { subject: 'other@example.com', name: 'Oka', role: 'viewer' });
  assertSuccess(await other.get('transactions?account_number=9990001111'));
  assertSuccess(await search({ account_number: '9990001111' }));

  const { text } = await send(`${service.operatorUrl}/metrics`, {});
  assert.match(text, /tiba_requests_refused_total\{client_id="person",error_code="RATE_LIMIT_EXCEEDED"\} 4/);
  assert.doesNotMatch(text, /example\.com/);
});

test('what is wrong is said', async () => {
  for (const [parameters, message] of [
    [{ q: '' }, /q must have/],
    [{ q: 'a', request_id: 'b' }, /at most one of q, request_id/],
    [{ p: 'a' }, /does not have/],
    [{ day: '2026-13-01' }, /day in Jakarta/],
    [{ day: DAY, created_from: '2026-11-21T00:00:00Z' }, /not both/],
    [{ amount: '1e3' }, /plain decimal/],
    [{ account_number: '12' }, /whole account number/],
    [{ overdue: 'true', status: 'FAILED' }, /only in PROCESS/],
    [{ status: 'DONE' }, /PROCESS, SUCCESS, FAILED/],
    [{ limit: '0' }, /from 1 to 200/],
    [{ cursor: 'x' }, /cursor/],
  ] as const) {
    assertError(await search(parameters), 'INVALID_REQUEST', message);
  }
  assertError(await search({ q: 'a' }, service.alpha.token), 'FORBIDDEN', /operator:read/);
});
