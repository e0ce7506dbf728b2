import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { answer, type ScriptedBank, startScriptedBank, successOf } from '../rails/scripted-bank.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { assertError, assertSuccess } from './assertions.ts';

// Regression: bidirectional controls in a name, such as U+202E, passed from a bank or the feed into `account_name`. A
// page that shows such a name displays another one.

/** Unicode's Bidi_Control. */
const CONTROLS = '\u061C\u200E\u200F\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069';
const NAMES: readonly (readonly [raw: string, name: string])[] = [
  ['BUDI \u202EOSOTNAS', 'BUDI OSOTNAS'],
  ['\u2066BUDI\u2069 SANTOSO', 'BUDI SANTOSO'],
  [`A${CONTROLS}B`, 'AB'],
  // Composed after the removal.
  ['JOSE\u200E\u0301', 'JOS\u00C9'],
  // Letters that are written from right to left stay.
  ['\u0645\u062D\u0645\u062F', '\u0645\u062D\u0645\u062F'],
];

let bank: ScriptedBank;
let service: TestService;
let bankName = '';
before(async () => {
  bank = await startScriptedBank({
    inquiry: (request, response) => answer(response, 200, { ...successOf(request), beneficiaryAccountName: bankName }),
  });
  service = await startTestService({ rails: [bank.rail(rsaKeys())] });
});
after(async () => {
  await service?.close();
  await bank?.close();
});

let lastAccount = 7_000_000_000;
function checkAccountNamed(raw: string) {
  bankName = raw;
  return service.checkAccount({ bank_code: '014', account_number: String((lastAccount += 1_009)) });
}

test("a bank's holder name is shown without bidirectional controls", async () => {
  // Trimmed after the removal, too.
  for (const [raw, name] of [...NAMES, [' \u200E SITI AMINAH \u200F ', 'SITI AMINAH'] as const]) {
    const data = assertSuccess(await checkAccountNamed(raw));
    assert.deepEqual([data['status'], data['account_name']], ['ACTIVE', name]);
  }
});

test('a name of nothing but bidirectional controls is no name, and the account is not called active', async () => {
  assertError(await checkAccountNamed(CONTROLS), 'SERVICE_UNAVAILABLE');
});

test("names and the description of the core's updates are shown without bidirectional controls", async () => {
  for (const [index, [raw, name]] of NAMES.entries()) {
    const id = `TB${String(index + 1).padStart(10, '0')}`;
    const fields = { transaction_id: id, reference_id: id };
    const names = (text: string) => ({ account_name: text, bank_name: text, description: text });
    assertSuccess(await service.feed(statusUpdate({ ...fields, ...names(raw) })));
    // The same transaction in other spelling is no conflict.
    assertSuccess(await service.feed(statusUpdate({ ...fields, ...names(name) })));
    const data = assertSuccess(await service.get(`/api/v1/check-status/${id}`));
    assert.deepEqual([data['account_name'], data['bank_name'], data['description']], [name, name, name]);
  }
});

test("an account name of nothing but bidirectional controls is rejected in the core's updates", async () => {
  const fed = await service.feed(statusUpdate({ transaction_id: 'TB0000000099', account_name: CONTROLS }));
  assert.match(fed.text, /account_name must be a string of 1 to 140 characters/);
});
