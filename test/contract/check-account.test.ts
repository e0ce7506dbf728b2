import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { assertError, assertSuccess, type ErrorCode } from './assertions.ts';

/** docs/contract.md 2.3, 3.2 and 4.3. The body: check-account-body.test.ts */

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.close());

const check = (bank_code: unknown, account_number: unknown): Promise<Answer> =>
  service.checkAccount({ bank_code, account_number });

suite('2.3 account verdict', () => {
  test('has exactly the fields of the contract, all present, in its order', async () => {
    const fields = ['bank_code', 'bank_name', 'account_number', 'account_name', 'is_valid', 'status'];
    for (const account of ['1234567890', '1234560404', '1234560403', '1234560410']) {
      assert.deepEqual(Object.keys(assertSuccess(await check('014', account))), fields);
    }
  });

  test('4.3 rule 1: a usable account is valid, ACTIVE and named, and the message says successful', async () => {
    const answer = await check('014', '1234567890');
    const { account_name, ...data } = assertSuccess(answer);
    assert.deepEqual(data, {
      bank_code: '014',
      bank_name: 'Bank Central Asia',
      account_number: '1234567890',
      is_valid: true,
      status: 'ACTIVE',
    });
    assert.match(String(account_name), /^[A-Z][A-Z '.-]+$/);
    assert.match(answer.json.message, /validation.*successful/i);
  });

  for (const [status, account] of [
    ['NOT_FOUND', '1234560404'],
    ['INACTIVE', '1234560410'],
    ['BLOCKED', '1234560403'],
  ] as const) {
    test(`4.3 rule 2: ${status} is a success with is_valid false, no name, and a message 'completed'`, async () => {
      const answer = await check('014', account);
      assert.deepEqual(assertSuccess(answer), {
        bank_code: '014',
        bank_name: 'Bank Central Asia',
        account_number: account,
        account_name: null,
        is_valid: false,
        status,
      });
      assert.match(answer.json.message, /validation.*completed/i);
    });
  }
});

suite('3.2 no verdict is SERVICE_UNAVAILABLE, never a verdict', () => {
  const CASES = { 'is unavailable': '0503', throttles: '0429', 'answers without JSON': '0500' };
  for (const [name, ending] of Object.entries(CASES)) {
    test(`a bank that ${name}: SERVICE_UNAVAILABLE`, async () => {
      assertError(await check('014', `123456${ending}`), 'SERVICE_UNAVAILABLE');
      assertError(await check('009', `123456${ending}`), 'SERVICE_UNAVAILABLE');
    });
  }

  test('a bank that never answers: SERVICE_UNAVAILABLE within 5 s', async () => {
    const startedMs = performance.now();
    const answers = await Promise.all([check('014', '1234560504'), check('009', '1234560504')]);
    const durationMs = performance.now() - startedMs;
    for (const answer of answers) assertError(answer, 'SERVICE_UNAVAILABLE');
    assert.ok(durationMs <= timeLimitMs(5_000), `answered after ${durationMs} ms`);
  });
});

suite('bank_code', () => {
  test('clearing code, BIC of 8 or 11 characters, short name, in any case: the same bank, echoed as sent', async () => {
    for (const code of ['014', 'CENAIDJA', 'cenaidja', 'CenaIdJa', 'CENAIDJAXXX', 'cenaidjajak', 'BCA', 'bca', 'bCa']) {
      const data = assertSuccess(await check(code, '1234567890'));
      assert.equal(data['bank_code'], code);
      assert.equal(data['bank_name'], 'Bank Central Asia');
      assert.equal(data['status'], 'ACTIVE');
    }
  });

  test('a clearing code shared with a sharia unit means the conventional bank; the BIC selects the unit', async () => {
    for (const [code, name] of [
      ['011', 'Bank Danamon Indonesia'],
      ['BDINIDJA', 'Bank Danamon Indonesia'],
      ['SYBDIDJ1', 'Bank Danamon Indonesia Unit Usaha Syariah'],
      ['sybdidj1xxx', 'Bank Danamon Indonesia Unit Usaha Syariah'],
      ['022', 'Bank CIMB Niaga'],
      ['SYNAIDJ1', 'Bank CIMB Niaga Unit Usaha Syariah'],
    ] as const) {
      assert.equal(assertSuccess(await check(code, '1234567890'))['bank_name'], name);
    }
  });

  test('nothing is trimmed, guessed or coerced: INVALID_BANK_CODE', async () => {
    for (const code of [
      '',
      ' ',
      ' 014',
      '014 ',
      '14',
      '0014',
      '０１４',
      '000',
      '999',
      'CENAIDJAXX',
      'CENAIDJ',
      'CENAIDJAXXXX',
      'BC',
      'BCA\u0000',
      'BCA\n',
      'ＢＣＡ',
      'bca\u200b',
      '__proto__',
      'constructor',
      'toString',
      'x'.repeat(5_000),
      '\ud800',
      14,
      14.5,
      true,
      false,
      null,
      [],
      ['014'],
      {},
      { toString: '014' },
      [[['014']]],
    ]) {
      assertError(await check(code, '1234567890'), 'INVALID_BANK_CODE');
    }
  });

  test('missing: INVALID_BANK_CODE', async () => {
    assertError(await service.checkAccount({ account_number: '1234567890' }), 'INVALID_BANK_CODE');
    assertError(await service.checkAccount({}), 'INVALID_BANK_CODE');
    assertError(await service.checkAccount({ Bank_Code: '014', account_number: '1234567890' }), 'INVALID_BANK_CODE');
  });
});

suite('account_number', () => {
  test('5 to 34 digits are checked, 4 and 35 are INVALID_FORMAT', async () => {
    for (const length of [5, 6, 10, 33, 34]) {
      const account = '7'.repeat(length);
      assert.equal(assertSuccess(await check('009', account))['account_number'], account);
    }
    for (const length of [0, 1, 4, 35, 36, 1_000]) assertFormat(await check('009', '7'.repeat(length)));
  });

  test('leading zeros are significant: they reach the bank and are returned', async () => {
    const [padded, plain] = [await check('009', '0001234567'), await check('009', '1234567')];
    assert.equal(assertSuccess(padded)['account_number'], '0001234567');
    assert.equal(assertSuccess(plain)['account_number'], '1234567');
    assert.equal(assertSuccess(await check('014', '0000000000'))['account_number'], '0000000000');
  });

  test("the length is checked for a bank that publishes it: BCA's is 10", async () => {
    for (const account of ['123456789', '12345678901', '12345']) {
      for (const code of ['014', 'BCA', 'CENAIDJA']) {
        assertError(await check(code, account), 'INVALID_FORMAT', /invalid account number format.*10 digits/i);
      }
      assertSuccess(await check('009', account));
    }
  });

  test('only ASCII digits, and nothing is trimmed or coerced: INVALID_FORMAT', async () => {
    for (const account of [
      ' 1234567890',
      '1234567890 ',
      '12345-67890',
      '12345 67890',
      '+1234567890',
      '-123456789',
      '1234567890.0',
      '1e9',
      '0x12345678',
      '１２３４５６７８９０',
      '١٢٣٤٥٦٧٨٩٠',
      '123456789O',
      '1234567890\n',
      '12345\u000067890',
      '',
      1234567890,
      12345.6,
      true,
      null,
      [],
      ['1234567890'],
      {},
      { valueOf: '1234567890' },
    ]) {
      assertFormat(await check('009', account));
    }
  });

  test('a JSON number is INVALID_FORMAT, including one too large for a binary float', async () => {
    for (const number of ['1234567890', '12345678901234567890', '1e10', '1234567890.0', '-1234567890']) {
      assertFormat(await service.checkAccount(`{"bank_code":"009","account_number":${number}}`));
    }
  });

  test('missing: INVALID_FORMAT', async () => {
    assertFormat(await service.checkAccount({ bank_code: '014' }));
  });
});

function assertFormat(answer: Answer): void {
  const code: ErrorCode = 'INVALID_FORMAT';
  assertError(answer, code, /invalid account number format/i);
}

test('each of many identical requests at once is answered', async () => {
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, index) => check(index % 2 ? '014' : 'bca', '1234567890')),
  );
  for (const [index, answer] of answers.entries()) {
    const data = assertSuccess(answer);
    assert.equal(data['bank_code'], index % 2 ? '014' : 'bca');
    assert.equal(data['account_name'], answers[0]?.json.data?.['account_name']);
  }
});
