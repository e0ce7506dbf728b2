import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import type { WalletRoute } from '../../apps/server/src/rails/snap/wallets.ts';
import { validationsOf } from '../account-validations/validations.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, send, startTestService, type TestService } from '../support/service.ts';
import { assertError, assertSuccess } from './assertions.ts';
import { customerRoute, startWalletRail } from './wallet-and-alias-rails.ts';

/** docs/contract.md 2.4 and 4.3: e-wallets are checked like banks, by their name and a mobile number. */

/** OVO has no route. DANA is a virtual account, the others are asked about a customer. */
const WALLETS: readonly (readonly [string, WalletRoute])[] = [
  ['GOPAY', customerRoute('GOPAY')],
  ['SHOPEEPAY', customerRoute('SHOPEEPAY')],
  ['LINKAJA', customerRoute('LINKAJA')],
  ['DANA', { service: '16', bankCode: { sent: 'BNIAIDJA', echoed: 'BNIAIDJA' }, prefix: '8528', mobile: 'national' }],
];
const REACHED = WALLETS.map(([name]) => name);

let service: TestService;
let inquiries = 0;
let closeBank: () => Promise<void>;
before(async () => {
  const { rail: snap, close } = await startWalletRail(new Map(WALLETS));
  closeBank = close;
  const counting: Rail = {
    ...snap,
    inquireAccount(inquiry, signal) {
      inquiries += 1;
      return snap.inquireAccount(inquiry, signal);
    },
  };
  service = await startTestService({ rails: [counting], settings: { verdictSeconds: 60 } });
});
after(async () => {
  await service?.close();
  await closeBank?.();
});

const check = (
  bank_code: string,
  account_number: unknown,
  more: object = {},
  headers: Record<string, string> = {},
): Promise<Answer> => service.checkAccount({ bank_code, account_number, ...more }, { headers });

const FORMS = ['081234567890', '6281234567890', '+6281234567890'];

suite('check-account', () => {
  test('each wallet by its name in any case: the holder, and both codes as they were sent', async () => {
    for (const wallet of [...REACHED, 'gopay', 'Shopee Pay', 'LinkAja']) {
      const data = assertSuccess(await check(wallet, '081234567890'));
      assert.match(String(data['account_name']), /^[A-Z]+ [A-Z]+$/);
      assert.deepEqual([data['status'], data['is_valid'], data['bank_code']], ['ACTIVE', true, wallet]);
    }
    assert.equal(assertSuccess(await check('GOPAY', '081234567890'))['bank_name'], 'GoPay');
  });

  test('0…, 62… and +62… are one account, and the number is returned as it was sent', async () => {
    for (const wallet of REACHED) {
      const answers = await Promise.all(FORMS.map((form) => check(wallet, form).then(assertSuccess)));
      assert.deepEqual(
        answers.map((data) => data['account_number']),
        FORMS,
      );
      assert.equal(new Set(answers.map((data) => data['account_name'])).size, 1, wallet);
    }
  });

  test('each outcome of the wallet is its verdict', async () => {
    for (const wallet of ['GOPAY', 'DANA']) {
      for (const [ending, status] of [
        ['0404', 'NOT_FOUND'],
        ['0410', 'INACTIVE'],
        ['0403', 'BLOCKED'],
      ] as const) {
        const data = assertSuccess(await check(wallet, `+62812345${ending}`));
        assert.deepEqual([data['status'], data['is_valid'], data['account_name']], [status, false, null]);
      }
    }
  });

  test('a wallet that cannot answer is SERVICE_UNAVAILABLE, never NOT_FOUND', async () => {
    for (const ending of ['0500', '0503']) {
      const answer = await check('GOPAY', `0812345${ending}`);
      assertError(answer, 'SERVICE_UNAVAILABLE', /GoPay cannot answer now/);
    }
  });

  test('a wallet that no rail reaches is UNSUPPORTED_BANK', async () => {
    assertError(await check('OVO', '081234567890'), 'UNSUPPORTED_BANK', /OVO/);
  });

  test('what is no mobile number is INVALID_FORMAT, in both languages', async () => {
    for (const number of ['1234567890', '0812', '0812 3456 7890', '+6512345678', 81234567890, undefined]) {
      assertError(await check('GOPAY', number), 'INVALID_FORMAT', /of GoPay must be a mobile number/);
    }
    const { json } = await check('GOPAY', '1234567890', {}, { 'accept-language': 'id' });
    assert.match(json.message, /GoPay harus berupa nomor ponsel seperti 081234567890$/);
    // A bank's accounts keep their rule.
    assertError(await check('014', '+6281234567890'), 'INVALID_FORMAT', /5 to 34 digits/);
  });

  test('compares names as for banks', async () => {
    const { account_name } = assertSuccess(await check('GOPAY', FORMS[0]));
    const data = assertSuccess(await check('GOPAY', FORMS[1], { expected_account_name: account_name }));
    assert.equal((data['name_match'] as { result: string }).result, 'MATCH');
  });

  test('a cached verdict is that of the account, in whatever form its number was sent', async () => {
    assertSuccess(await check('GOPAY', '081277770001'));
    const before = inquiries;
    const answer = await check('GOPAY', '+6281277770001', {}, { 'cache-control': 'max-age=60' });
    assertSuccess(answer);
    assert.match(answer.headers.get('age') ?? '', /^\d+$/);
    assert.equal(inquiries, before);
    // The same number at another wallet is another account.
    assertSuccess(await check('LINKAJA', '081277770001', {}, { 'cache-control': 'max-age=60' }));
    assert.equal(inquiries, before + 1);
  });

  test('the forms of one number count as one account of the day', async () => {
    const { token } = await service.addClient('one-account', ['account:check'], { 'accounts-per-day': 1 });
    const checkAs = (account_number: string) => service.checkAccount({ bank_code: 'GOPAY', account_number }, { token });
    for (const form of FORMS) assertSuccess(await checkAs(form));
    assertError(await checkAs('081234567891'), 'RATE_LIMIT_EXCEEDED', /different accounts in one day/);
  });
});

test('the audit log finds a check by any form of the number', async () => {
  assertSuccess(await check('GOPAY', '081277770002'));
  const { token } = await service.addClient('operator', ['operator:read']);
  const found = async (account_number: string): Promise<string | undefined> => {
    const { json } = await send(`${service.operatorUrl}/operator/v1/account-checks/search`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ bank_code: 'gopay', account_number }),
    });
    const [first] = (json.data?.['account_checks'] ?? []) as { bic: string }[];
    return first?.bic;
  };
  // Records are written in the background.
  await eventually('the check is found', async () => (await found('081277770002')) === 'GOPAY');
  assert.equal(await found('+6281277770002'), 'GOPAY');
  assert.equal(await found('081277770009'), undefined);
});

test('a client finds its own check by any form of the number, with or without the wallet', async () => {
  const history = async (query: string): Promise<unknown[]> => {
    const { json } = await service.get(`/api/v1/account-checks?${query}`);
    return ((json.data?.['account_checks'] ?? []) as { bank_code: string }[]).map(({ bank_code }) => bank_code);
  };
  assertSuccess(await check('LINKAJA', '6281277770005'));
  await eventually('the check is found', async () => (await history('account_number=081277770005')).length === 1);
  assert.deepEqual(await history('account_number=%2B6281277770005&bank_code=linkaja'), ['LINKAJA']);
  assert.deepEqual(await history('account_number=6281277770005&bank_code=GOPAY'), []);
  assert.equal((await service.get('/api/v1/account-checks?account_number=12345&bank_code=GOPAY')).status, 400);
});

test('a bulk validation asks once about the forms of one number, and repeats each as it was sent', async () => {
  const validations = validationsOf(service);
  const before = inquiries;
  const sent = ['081277770003', '6281277770003', '+6281277770003'];
  const id = await validations.create([
    ...sent.map((account_number) => ({ bank_code: 'DANA', account_number })),
    { bank_code: 'OVO', account_number: '081277770003' },
    { bank_code: 'GOPAY', account_number: '123456' },
  ]);
  await validations.untilEnded(id);
  assert.equal(inquiries, before + 1);
  const results = (await validations.results(id)).toSorted((one, other) => one.row - other.row);
  assert.deepEqual(
    results.map(({ status, error_code, account_number, bank_name }) => [
      status ?? error_code,
      account_number,
      bank_name,
    ]),
    [
      ...sent.map((number) => ['ACTIVE', number, 'DANA']),
      ['UNSUPPORTED_BANK', '081277770003', 'OVO'],
      ['INVALID_FORMAT', '123456', null],
    ],
  );
});

test('the list of banks says what is a wallet, which number it takes, and whether it can be checked', async () => {
  const { json } = await service.get('/api/v1/banks');
  const banks = (json.data?.['banks'] ?? []) as Record<string, unknown>[];
  const wallets = banks.filter(({ type }) => type === 'E_WALLET');
  assert.deepEqual(
    wallets.map(({ bank_code, bic, bank_name, account_number_type, check_account }) => [
      bank_code,
      bic,
      bank_name,
      account_number_type,
      check_account,
    ]),
    [
      ['GOPAY', null, 'GoPay', 'MOBILE_NUMBER', true],
      ['DANA', null, 'DANA', 'MOBILE_NUMBER', true],
      ['OVO', null, 'OVO', 'MOBILE_NUMBER', false],
      ['SHOPEEPAY', null, 'ShopeePay', 'MOBILE_NUMBER', true],
      ['LINKAJA', null, 'LinkAja', 'MOBILE_NUMBER', true],
      ['ISAKU', null, 'i.saku', 'MOBILE_NUMBER', false],
    ],
  );
  const bca = banks.find(({ bic }) => bic === 'CENAIDJA');
  assert.deepEqual([bca?.['type'], bca?.['account_number_type']], ['BANK', 'ACCOUNT_NUMBER']);
  const { json: one } = await service.get('/api/v1/banks/gopay');
  assert.equal(one.data?.['type'], 'E_WALLET');
});

test('no log line has a mobile number, in any of its forms', async () => {
  await check('GOPAY', '+6281277770004');
  await check('DANA', '6281277770004');
  const log = JSON.stringify(service.logged);
  assert.ok(!log.includes('81277770004'));
  assert.ok(log.includes('********0004'));
});
