import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { NOT_FOUND, scriptedRail } from '../rails/resilience/scripted-rail.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { assertError } from './assertions.ts';
import { until } from './until.ts';

/** GET /api/v1/banks and /api/v1/banks/{code} (docs/api.md, Banks). */
suite('banks', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service?.close());

  const read = async (code: string): Promise<Record<string, unknown>> => {
    const { status, json } = await service.get(`/api/v1/banks/${code}`);
    assert.equal(status, 200);
    return json.data ?? {};
  };

  test('a bank is found by each of its codes; before the first inquiry it is UP and has no durations', async () => {
    const bank = await read('014');
    assert.deepEqual(bank, {
      bank_code: '014',
      bic: 'CENAIDJA',
      bank_name: 'Bank Central Asia',
      short_names: bank['short_names'],
      type: 'BANK',
      account_number_type: 'ACCOUNT_NUMBER',
      account_number_length: 10,
      check_account: true,
      status: 'UP',
      since: null,
      account_checks: null,
      disbursements: null,
    });
    for (const code of ['CENAIDJA', 'BCA', 'bca', 'Bank%20BCA']) assert.deepEqual(await read(code), bank);
    assert.equal((await read('BRI'))['account_number_length'], null);
  });

  test('an unknown code is INVALID_BANK_CODE', async () => {
    const { status, json } = await service.get('/api/v1/banks/999');
    assert.deepEqual([status, json.error_code], [400, 'INVALID_BANK_CODE']);
    assert.match(json.message, /no bank has this code: GET \/api\/v1\/banks lists them$/);
  });

  test('the list has every bank once, with the same data as the single operation', async () => {
    const { status, json } = await service.get('/api/v1/banks');
    assert.equal(status, 200);
    const banks = json.data?.['banks'] as Record<string, unknown>[];
    assert.ok(banks.length > 100);
    assert.equal(new Set(banks.map(({ bic, bank_code }) => bic ?? bank_code)).size, banks.length);
    assert.deepEqual(
      banks.find(({ bic }) => bic === 'CENAIDJA'),
      await read('014'),
    );
  });

  test('durations of account checks and disbursements are given once there are enough of them', async () => {
    for (let number = 0; number < 40; number += 1) {
      await service.checkAccount({ bank_code: 'BNI', account_number: String(1_234_561_000 + number) });
    }
    const ids = Array.from({ length: 6 }, (_, index) => `TB000000010${index}`);
    const begun = { bank_code: '009', status: 'PROCESS', created_at: '2026-11-21T04:00:00.000Z' };
    for (const id of ids) await service.feed(statusUpdate({ ...begun, transaction_id: id, reference_id: id }));
    for (const id of ids) {
      const ended = { status: 'SUCCESS', processed_at: '2026-11-21T04:01:00.000Z' };
      await service.feed(statusUpdate({ ...begun, ...ended, transaction_id: id, reference_id: id }));
    }
    await until(
      ({ json }) => json.data?.['disbursements'] !== null,
      () => service.get('/api/v1/banks/009'),
    );
    const { account_checks: checks, disbursements, status } = await read('009');
    assert.deepEqual(disbursements, { p50_seconds: 60, p95_seconds: 60 });
    const { p50_ms: p50Ms, p95_ms: p95Ms } = checks as Record<string, number>;
    assert.ok(p50Ms !== undefined && p95Ms !== undefined && p50Ms <= p95Ms && p95Ms < 5_000);
    assert.equal(status, 'UP');
  });

  test('a bank that does not answer is DOWN, and another bank stays UP', async () => {
    const states = new Set<unknown>();
    for (let number = 0; number < 60 && !states.has('DOWN'); number += 1) {
      await service.checkAccount({ bank_code: 'BRI', account_number: `${String(10_000 + number)}0503` });
      states.add((await read('BRI'))['status']);
    }
    const { status, since } = await read('BRI');
    assert.equal(status, 'DOWN');
    assert.match(String(since), /^\d{4}-\d\d-\d\dT.*Z$/);
    assert.equal((await read('BCA'))['status'], 'UP');
  });

  test('without a token: 401', async () => {
    assert.equal((await fetch(`${service.url}/api/v1/banks`)).status, 401);
  });
});

/** Regression: a check of a number that is too long for the bank had Retry-After 5, each time. */
test('an account number that no rail can transmit: the message says so, and Retry-After is an hour', async () => {
  const rail = scriptedRail('only', () => NOT_FOUND, {
    supportsAccountNumber: ({ accountNumber }) => accountNumber.length <= 16,
  });
  const service = await startTestService({ rails: [rail] });
  try {
    const { status, json, headers } = await service.checkAccount({ bank_code: 'BRI', account_number: '1'.repeat(20) });
    assert.deepEqual([status, json.error_code], [503, 'SERVICE_UNAVAILABLE']);
    assert.match(
      json.message,
      /^Temporarily unavailable: no connection to Bank Rakyat Indonesia .* can carry this account number/,
    );
    assert.equal(headers.get('retry-after'), '3600');
    assert.equal(rail.inquiries.length, 0);
  } finally {
    await service.close();
  }
});

test('a bank that no rail reaches has no status, and a check there is UNSUPPORTED_BANK, without Retry-After', async () => {
  const rail = scriptedRail('only', () => NOT_FOUND, { reaches: ({ bic }) => bic === 'CENAIDJA' });
  const service = await startTestService({ rails: [rail] });
  try {
    const { json: read } = await service.get('/api/v1/banks/BRI');
    assert.deepEqual([read.data?.['check_account'], read.data?.['status']], [false, null]);
    const answer = await service.checkAccount({ bank_code: 'BRI', account_number: '123456789012345' });
    assertError(answer, 'UNSUPPORTED_BANK', /accounts of Bank Rakyat Indonesia .* cannot be checked here/);
    assert.equal(answer.headers.get('retry-after'), null);
    assert.equal(rail.inquiries.length, 0);
    assert.ok(service.logged.some(({ bank, outcome }) => bank === 'BRINIDJA' && outcome === 'no_rail'));
    assert.equal((await service.get('/api/v1/banks/BCA')).json.data?.['status'], 'UP');
  } finally {
    await service.close();
  }
});
