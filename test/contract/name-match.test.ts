import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';

/** The extension `expected_account_name`: docs/name-match.md. How names are compared: test/name-match. */
suite('check-account with expected_account_name', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service?.close());

  const check = (account: string, more: object = {}) =>
    service.checkAccount({ bank_code: 'BCA', account_number: account, ...more });

  test('says whether the name is the one that the bank holds', async () => {
    const { json } = await check('1234567890');
    const name = String(json.data?.['account_name']);
    const match = await check('1234567890', { expected_account_name: `Bpk. ${name.toLowerCase()}` });
    assert.equal(match.status, 200);
    assert.deepEqual(Object.keys(match.json.data ?? {}).at(-1), 'name_match');
    const { name_match: nameMatch, ...rest } = match.json.data ?? {};
    assert.deepEqual(rest, json.data, 'everything else is as without it');
    assert.match(JSON.stringify(nameMatch), /"result":"MATCH"/);
    const other = await check('1234567890', { expected_account_name: 'Yohanes Situmorang' });
    assert.match(JSON.stringify(other.json.data?.['name_match']), /"result":"NO_MATCH"/);
  });

  test('an account that is not active has no name to compare with', async () => {
    const { status, json } = await check('1234560410', { expected_account_name: 'Budi Santoso' });
    assert.equal(status, 200);
    assert.equal(json.data?.['account_name'], null);
    assert.deepEqual(json.data['name_match'], { result: 'NOT_POSSIBLE', score: 0, reasons: ['NO_NAME'] });
  });

  test('without it, or with null, nothing is compared', async () => {
    for (const more of [{}, { expected_account_name: null }]) {
      const { json } = await check('1234567890', more);
      assert.equal(Object.hasOwn(json.data ?? {}, 'name_match'), false);
    }
  });

  const REFUSED: Readonly<Record<string, unknown>> = {
    'a number': 1,
    'an object': {},
    nothing: '',
    spaces: '   ',
    'more than 140 characters': 'A'.repeat(141),
    'a control character': 'BUDI\u0000SANTOSO',
  };
  for (const [what, value] of Object.entries(REFUSED)) {
    test(`with ${what} is INVALID_FORMAT, and the bank is not asked`, async () => {
      const { status, json } = await check('1234567890', { expected_account_name: value });
      assert.equal(status, 400);
      assert.equal(json.error_code, 'INVALID_FORMAT');
      assert.match(json.message, /expected_account_name/);
    });
  }

  test('the log tells no name that was expected', async () => {
    await check('1234567890', { expected_account_name: 'Zulkarnaen Expected' });
    assert.doesNotMatch(JSON.stringify(service.logged), /Zulkarnaen/i);
  });
});
