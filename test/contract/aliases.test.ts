import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startBank } from '../../apps/bank/src/server.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { MANDIRI } from '../../apps/server/src/rails/snap/profiles/mandiri.ts';
import { createSnapRail } from '../../apps/server/src/rails/snap/snap-rail.ts';
import { dataOf, type Validation, validationsOf } from '../account-validations/validations.ts';
import { partnerSettings } from '../bank/partner.ts';
import { eventually } from '../support/eventually.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { type Answer, send, startTestService, type TestService } from '../support/service.ts';
import { assertError, assertSuccess } from './assertions.ts';
import { startAliasRail } from './wallet-and-alias-rails.ts';

/** docs/contract.md 2.4 and 4.3: an alias of BI-FAST is checked like an account, with the bank code BIFAST. */

const keys = rsaKeys();
const { clientKey, clientSecret } = partnerSettings(keys);

/** The rails that resolve aliases, each to its own simulated bank. */
const RAILS = ['BI-FAST', 'Mandiri over SNAP'] as const;
type RailName = (typeof RAILS)[number];

const banks: { close(): Promise<void> }[] = [];
const rails = new Map<RailName, Rail>();
let current: RailName = 'BI-FAST';
let inquiries = 0;
let service: TestService;

before(async () => {
  const settings = partnerSettings(keys);
  const aliasRail = await startAliasRail();
  const mandiri = await startBank({ ...settings, profile: 'snap-mandiri', partnerId: 'TIBATEST' });
  banks.push(aliasRail, mandiri);
  rails.set('BI-FAST', aliasRail.rail);
  rails.set(
    'Mandiri over SNAP',
    createSnapRail({
      name: 'mandiri',
      banks: null,
      aliases: { mobile: 'international' },
      baseUrl: mandiri.baseUrl,
      clientKey,
      clientSecret,
      privateKey: keys.privateKey,
      partnerId: 'TIBATEST',
      channelId: settings.channelId,
      ownBank: 'BMRIIDJA',
      profile: MANDIRI,
      choices: { route: 'bifast', routeParameters: { category_purpose: '51001', debtor_account: '1234567890' } },
    }),
  );
  const chosen = (): Rail => rails.get(current) ?? assert.fail(current);
  const rail: Rail = {
    name: 'aliases',
    reaches: (bank) => chosen().reaches(bank),
    supportsAccountNumber: (inquiry) => chosen().supportsAccountNumber?.(inquiry) !== false,
    inquireAccount(inquiry, signal) {
      inquiries += 1;
      return chosen().inquireAccount(inquiry, signal);
    },
    close: async () => {
      for (const each of rails.values()) await each.close();
    },
  };
  service = await startTestService({ rails: [rail], settings: { verdictSeconds: 60 } });
});
after(async () => {
  await service?.close();
  for (const bank of banks) await bank.close();
});

const check = (account_number: unknown, more: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
  service.checkAccount({ bank_code: 'BIFAST', account_number, ...more }, { headers });

const MOBILE_FORMS = ['081234567890', '6281234567890', '+6281234567890'];
const EMAIL_FORMS = ['budi.santoso@example.co.id', 'Budi.Santoso@Example.co.id', 'BUDI.SANTOSO@EXAMPLE.CO.ID'];

for (const name of RAILS) {
  suite(`check-account over ${name}`, () => {
    before(() => {
      current = name;
    });

    test('the forms of a mobile number are one alias, and so are letters in any case', async () => {
      for (const forms of [MOBILE_FORMS, EMAIL_FORMS]) {
        const answers = await Promise.all(forms.map((form) => check(form).then(assertSuccess)));
        assert.deepEqual(
          answers.map((data) => [data['account_number'], data['status'], data['is_valid']]),
          forms.map((form) => [form, 'ACTIVE', true]),
        );
        assert.equal(new Set(answers.map((data) => data['account_name'])).size, 1);
      }
    });

    test('the verdict has the fields of any verdict, and not the account or the bank behind the alias', async () => {
      const { text, json } = await check('siti@example.com');
      const { account_name, ...others } = json.data ?? {};
      assert.match(String(account_name), /^[A-Z]+ [A-Z]+$/);
      assert.deepEqual(others, {
        bank_code: 'BIFAST',
        bank_name: 'BI-FAST',
        account_number: 'siti@example.com',
        is_valid: true,
        status: 'ACTIVE',
      });
      assert.doesNotMatch(text, /BRINIDJA|BRI\b|"\d{15}"/);
    });

    test('each outcome is its verdict', async () => {
      for (const alias of ['+628123450404', 'budi0404@example.com']) {
        const data = assertSuccess(await check(alias));
        assert.deepEqual([data['status'], data['is_valid'], data['account_name']], ['NOT_FOUND', false, null]);
      }
      // Mandiri publishes one code for all of them.
      const inactive = assertSuccess(await check('budi0410@example.com'))['status'];
      const blocked = assertSuccess(await check('budi0403@example.com'))['status'];
      const expected = name === 'BI-FAST' ? ['INACTIVE', 'BLOCKED'] : ['NOT_FOUND', 'NOT_FOUND'];
      assert.deepEqual([inactive, blocked], expected);
    });

    test('a bank that cannot answer is SERVICE_UNAVAILABLE, never NOT_FOUND', async () => {
      for (const alias of ['0812345670503', 'budi0500@example.com']) {
        assertError(await check(alias), 'SERVICE_UNAVAILABLE', /BI-FAST cannot answer now/);
      }
    });

    test('compares names as for accounts', async () => {
      const { account_name } = assertSuccess(await check(EMAIL_FORMS[0]));
      const data = assertSuccess(await check(EMAIL_FORMS[1], { expected_account_name: account_name }));
      assert.equal((data['name_match'] as { result: string }).result, 'MATCH');
    });
  });
}

test('an e-mail address that SNAP cannot carry says so, and BI-FAST carries it', async () => {
  const long = `${'a'.repeat(30)}@example.co.id`;
  current = 'Mandiri over SNAP';
  assertError(await check(long), 'SERVICE_UNAVAILABLE', /can carry this account number/);
  current = 'BI-FAST';
  assert.equal(assertSuccess(await check(long))['status'], 'ACTIVE');
});

test('what is no alias is INVALID_FORMAT, in both languages', async () => {
  const invalid = [
    '1234567890',
    'budi@localhost',
    'budi@@example.com',
    'budi @example.com',
    'büdi@example.com',
    12,
    null,
  ];
  for (const alias of [...invalid, `${'a'.repeat(65)}@example.com`, `a@${'b.'.repeat(130)}id`, undefined]) {
    assertError(await check(alias), 'INVALID_FORMAT', /of BI-FAST must be a mobile number .* or an e-mail address/);
  }
  const { json } = await check('budi@', {}, { 'accept-language': 'id' });
  assert.match(json.message, /BI-FAST harus berupa nomor ponsel .* atau alamat surel$/);
  assertError(
    await service.checkAccount({ bank_code: '014', account_number: 'budi@example.com' }),
    'INVALID_FORMAT',
    /5 to 34 digits/,
  );
});

test('the forms of an alias share a cached verdict and count as one account of the day', async () => {
  assertSuccess(await check('cached@example.com'));
  const before = inquiries;
  const answer = await check('Cached@Example.com', {}, { 'cache-control': 'max-age=60' });
  assertSuccess(answer);
  assert.match(answer.headers.get('age') ?? '', /^\d+$/);
  assert.equal(inquiries, before);

  const { token } = await service.addClient('one-account', ['account:check'], { 'accounts-per-day': 1 });
  const checkAs = (account_number: string) => service.checkAccount({ bank_code: 'BI-FAST', account_number }, { token });
  for (const form of EMAIL_FORMS) assertSuccess(await checkAs(form));
  assertError(await checkAs('other@example.com'), 'RATE_LIMIT_EXCEEDED', /different accounts in one day/);
});

test('a validation that walks through numbered e-mail addresses is paused before any is checked', async () => {
  const validations = validationsOf(service, await service.addClient('walker', ['account:check']));
  const before = inquiries;
  const rows = Array.from({ length: 300 }, (_, index) => ({
    bank_code: 'BIFAST',
    account_number: `user${index + 100}@example.com`,
  }));
  assert.notEqual(dataOf<Validation>(await validations.sendRows(rows))['held_until'], null);
  assert.equal(inquiries, before);
});

test('the audit log finds a check by any form, for the operator and for the client', async () => {
  assertSuccess(await check('Audit@example.com'));
  const { token } = await service.addClient('operator', ['operator:read']);
  const found = async (account_number: string): Promise<unknown> => {
    const { json } = await send(`${service.operatorUrl}/operator/v1/account-checks/search`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ bank_code: 'bifast', account_number }),
    });
    return ((json.data?.['account_checks'] ?? []) as { bic: string }[])[0]?.bic;
  };
  await eventually('the check is found', async () => (await found('audit@example.com')) === 'BIFAST');
  assert.equal(await found('other-person@example.com'), undefined);
  const { json } = await service.get('/api/v1/account-checks?account_number=AUDIT%40EXAMPLE.COM');
  const [own] = (json.data?.['account_checks'] ?? []) as Record<string, unknown>[];
  assert.deepEqual([own?.['bank_code'], own?.['bank_name'], own?.['status']], ['BIFAST', 'BI-FAST', 'ACTIVE']);
});

test('a bulk validation asks once about the forms of one alias, and repeats each as it was sent', async () => {
  const validations = validationsOf(service);
  const before = inquiries;
  const sent = ['bulk@example.com', 'Bulk@Example.com', '081277770003', '+6281277770003'];
  const id = await validations.create([
    ...sent.map((account_number) => ({ bank_code: 'BIFAST', account_number })),
    { bank_code: 'BIFAST', account_number: '123456' },
  ]);
  await validations.untilEnded(id);
  assert.equal(inquiries, before + 2);
  const results = (await validations.results(id)).toSorted((one, other) => one.row - other.row);
  assert.deepEqual(
    results.map(({ status, error_code, account_number }) => [status ?? error_code, account_number]),
    [...sent.map((alias) => ['ACTIVE', alias]), ['INVALID_FORMAT', '123456']],
  );
});

test('the list of banks says what BIFAST is, and whether aliases can be checked', async () => {
  const { json } = await service.get('/api/v1/banks/bi-fast');
  const { bank_code, bic, type, account_number_type, check_account } = json.data ?? {};
  assert.deepEqual(
    [bank_code, bic, type, account_number_type, check_account],
    ['BIFAST', null, 'ALIAS_DIRECTORY', 'ALIAS', true],
  );
});

test('no log line has an alias, in any of its forms', async () => {
  await check('Hidden.Person@example.com');
  await check('hidden.person@example.com', { expected_account_name: 'A NAME' });
  await check('+6281277770004');
  const log = JSON.stringify(service.logged);
  for (const text of ['hidden', 'Hidden', 'person@', '81277770004']) assert.ok(!log.includes(text), text);
  assert.ok(log.includes('*******.com'));
  assert.ok(log.includes('********0004'));
});
