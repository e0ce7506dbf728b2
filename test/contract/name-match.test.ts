import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';

/** docs/contract.md 4.3, `expected_account_name` (docs/name-match.md). How names are compared: test/name-match. */
suite('check-account with expected_account_name', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service?.close());

  const check = (account: string, more: object = {}) =>
    service.checkAccount({ bank_code: 'BCA', account_number: account, ...more });

  test('says whether the name matches the name that the bank holds', async () => {
    const { json } = await check('1234567890');
    const name = String(json.data?.['account_name']);
    const match = await check('1234567890', { expected_account_name: `Bpk. ${name.toLowerCase()}` });
    assert.equal(match.status, 200);
    assert.deepEqual(Object.keys(match.json.data ?? {}).at(-1), 'name_match');
    const { name_match: nameMatch, ...rest } = match.json.data ?? {};
    assert.deepEqual(rest, json.data, 'the other fields are the same as without it');
    assert.match(JSON.stringify(nameMatch), /"result":"MATCH"/);
    const other = await check('1234567890', { expected_account_name: 'Yohanes Situmorang' });
    assert.match(JSON.stringify(other.json.data?.['name_match']), /"result":"NO_MATCH"/);
  });

  test('an account that is not ACTIVE has no name, so the match is NOT_POSSIBLE', async () => {
    const { status, json } = await check('1234560410', { expected_account_name: 'Budi Santoso' });
    assert.equal(status, 200);
    assert.equal(json.data?.['account_name'], null);
    assert.deepEqual(json.data['name_match'], { result: 'NOT_POSSIBLE', score: 0, reasons: ['NO_NAME'] });
  });

  test('without it, or with null, there is no name_match', async () => {
    for (const more of [{}, { expected_account_name: null }]) {
      const { json } = await check('1234567890', more);
      assert.equal(Object.hasOwn(json.data ?? {}, 'name_match'), false);
    }
  });

  const INVALID_NAMES: Readonly<Record<string, unknown>> = {
    'a number': 1,
    'an object': {},
    'an empty string': '',
    spaces: '   ',
    'more than 140 characters': 'A'.repeat(141),
    'a control character': 'BUDI\u0000SANTOSO',
  };
  for (const [kind, value] of Object.entries(INVALID_NAMES)) {
    test(`with ${kind} is INVALID_FORMAT`, async () => {
      const { status, json } = await check('1234567890', { expected_account_name: value });
      assert.equal(status, 400);
      assert.equal(json.error_code, 'INVALID_FORMAT');
      assert.match(json.message, /expected_account_name/);
    });
  }

  test('the log has no expected name', async () => {
    await check('1234567890', { expected_account_name: 'Zulkarnaen Expected' });
    assert.doesNotMatch(JSON.stringify(service.logged), /Zulkarnaen/i);
  });
});
