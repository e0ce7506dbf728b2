import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

/** The verdicts of the simulated bank, by the last four digits of an account (docs/simulated-bank.md). */
const VERDICTS: Readonly<Record<string, string>> = {
  '0001': 'ACTIVE',
  '0403': 'BLOCKED',
  '0404': 'NOT_FOUND',
  '0410': 'INACTIVE',
};
const NO_VERDICTS = ['0429', '0500', '0503', '0504'];
const BANKS = ['BCA', 'BRI'];

describe('the service and the simulated bank', { concurrency: true }, () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service?.close());

  const accountOf = (bankCode: string, ending: string): string =>
    bankCode === 'BCA' ? `715926${ending}` : `826037${ending}`;
  const check = (bankCode: string, ending: string) =>
    service.checkAccount({ bank_code: bankCode, account_number: accountOf(bankCode, ending) });

  for (const bankCode of BANKS) {
    for (const [ending, expected] of Object.entries(VERDICTS)) {
      it(`an account of ${bankCode} that ends in ${ending} is ${expected}`, async () => {
        const { status, json } = await check(bankCode, ending);
        assert.equal(status, 200);
        assert.equal(json.data?.['status'], expected);
        assert.equal(json.data['is_valid'], expected === 'ACTIVE');
        assert.equal(typeof json.data['account_name'], expected === 'ACTIVE' ? 'string' : 'object');
      });
    }

    for (const ending of NO_VERDICTS) {
      it(`an account of ${bankCode} that ends in ${ending} is SERVICE_UNAVAILABLE within 5 s`, async () => {
        const startedMs = performance.now();
        const { status, headers, json } = await check(bankCode, ending);
        assert.ok(performance.now() - startedMs < timeLimitMs(5_000));
        assert.equal(status, 503);
        assert.equal(json.error_code, 'SERVICE_UNAVAILABLE');
        assert.equal(json.data, undefined);
        assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
      });
    }
  }
});

describe('the log of account checks', () => {
  it('has the outcome of each check, and no account number or name', async () => {
    const service = await startTestService();
    const names: string[] = [];
    const accounts = BANKS.flatMap((bankCode, index) =>
      [...Object.keys(VERDICTS), '0429', '0500', '0503'].map((ending) => [bankCode, `83625${index}${ending}`] as const),
    );
    try {
      for (const [bankCode, account] of accounts) {
        const { json } = await service.checkAccount({ bank_code: bankCode, account_number: account });
        const name = json.data?.['account_name'];
        if (typeof name === 'string') names.push(name);
      }
      // Rejected before it is parsed as an account number, so its type never masks it.
      await service.checkAccount({ bank_code: 'BRI', account_number: '8362519999 or so' });
    } finally {
      await service.close();
    }

    const checks = service.logged.filter(({ route }) => route === '/api/v1/check-account');
    assert.equal(checks.length, accounts.length + 1);
    assert.deepEqual(
      new Set(checks.map(({ outcome }) => outcome)),
      new Set([...Object.values(VERDICTS), 'throttled', 'invalid_response', 'bank_unavailable', undefined]),
    );
    assert.equal(checks[0]?.['account'], '******0001');

    const log = service.logged.map((line) => JSON.stringify(line)).join('\n');
    const hidden = accounts.map(([, account]) => account.slice(0, -3));
    assert.equal(new Set(names).size, 2);
    for (const secret of [...hidden, '8362519999', ...names.join(' ').split(' ')]) {
      assert.ok(!log.includes(secret), `the log holds ${secret}`);
    }
  });
});
