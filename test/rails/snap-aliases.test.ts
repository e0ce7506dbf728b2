import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { InquiryOutcome, Rail } from '../../apps/server/src/rails/rail.ts';
import { MANDIRI } from '../../apps/server/src/rails/snap/profiles/mandiri.ts';
import type { SnapSettings } from '../../apps/server/src/rails/snap/settings.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { testBanks } from '../support/service.ts';
import { inquireAlias } from './connection.ts';
import { answer, type ScriptedBank, startScriptedBank } from './scripted-bank.ts';

/** Aliases of BI-FAST over SNAP: Mandiri's external account inquiry by proxy. */

const keys = rsaKeys();
const ALIAS = 'budi@example.com';
const RESOLVED = '001234567890';

let bank: ScriptedBank;
let reply: (fields: Readonly<Record<string, unknown>>) => object;
before(async () => {
  bank = await startScriptedBank({
    inquiry: (request, response) => answer(response, 200, reply(request.fields)),
  });
});
after(() => bank?.close());

const rail = (changes: Partial<SnapSettings> = {}): Rail =>
  bank.rail(keys, {
    profile: MANDIRI,
    choices: { route: 'bifast', routeParameters: { category_purpose: '51001', debtor_account: '1234567890' } },
    aliases: { mobile: 'international' },
    ...changes,
  });

const success =
  (changes: object) =>
  (fields: Readonly<Record<string, unknown>>): object => ({
    responseCode: '2001600',
    responseMessage: 'Successful',
    partnerReferenceNo: fields['partnerReferenceNo'],
    beneficiaryAccountName: 'BUDI SANTOSO',
    beneficiaryAccountNo: RESOLVED,
    beneficiaryBankCode: 'BRINIDJA',
    additionalInfo: { responseStatus: 'ACTC' },
    ...changes,
  });

const labelOf = (outcome: InquiryOutcome): string =>
  outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;

test('an inquiry has the alias, its type, and the hub in place of the bank', async () => {
  reply = success({});
  for (const [alias, mobile, aliasType, aliasValue] of [
    ['Budi@Example.com', 'international', '02', ALIAS],
    ['+6281234567890', 'international', '01', '6281234567890'],
    ['6281234567890', 'national', '01', '081234567890'],
  ] as const) {
    assert.equal(labelOf(await inquireAlias(rail({ aliases: { mobile } }), alias)), 'ACTIVE');
    const { partnerReferenceNo, ...fields } = bank.inquiries.at(-1)?.fields ?? {};
    assert.match(String(partnerReferenceNo), /^\d+$/);
    assert.deepEqual(fields, {
      beneficiaryBankCode: 'FASTIDJA',
      beneficiaryAccountNo: aliasValue,
      additionalInfo: {
        switcher: 'BIFAST',
        inquiryType: '2',
        categoryPurpose: '51001',
        debtorAccount: '1234567890',
        lookUpType: 'PXRS',
        aliasType,
        aliasValue,
      },
    });
  }
});

suite('a success is believed', () => {
  for (const [name, changes, expected] of [
    ['with the account behind the alias and the reference', {}, 'ACTIVE'],
    ['with the alias, without the reference', { beneficiaryAccountNo: ALIAS, partnerReferenceNo: '' }, 'ACTIVE'],
    ['not with the account behind the alias alone', { partnerReferenceNo: undefined }, 'invalid_response'],
    ['not with another reference', { partnerReferenceNo: '1' }, 'invalid_response'],
    ['not without an account', { beneficiaryAccountNo: undefined }, 'invalid_response'],
    ['not without a holder', { beneficiaryAccountName: '' }, 'invalid_response'],
    ['not when BI-FAST denies it', { additionalInfo: { responseStatus: 'RJCT' } }, 'invalid_response'],
  ] as const) {
    test(name, async () => {
      reply = success(changes);
      assert.equal(labelOf(await inquireAlias(rail(), ALIAS)), expected);
    });
  }
});

test('aliases are reached where they were agreed on, over a route that has them', () => {
  const directory = testBanks.find('BIFAST') ?? assert.fail();
  const reaches = (changes: Partial<SnapSettings>): boolean => rail(changes).reaches(directory);
  assert.equal(reaches({}), true);
  assert.equal(reaches({ banks: new Set(['BIFAST']) }), true);
  assert.equal(reaches({ banks: new Set(['BRINIDJA']) }), false);
  assert.equal(reaches({ aliases: null }), false);
  assert.equal(reaches({ choices: { route: 'prima' } }), false);
});
