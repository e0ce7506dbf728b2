import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { InquiryOutcome, Rail } from '../../apps/server/src/rails/rail.ts';
import { accountVerdict } from '../../apps/server/src/rails/snap/account-inquiry.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { inquireAccount } from './connection.ts';
import { answer, HOLDER, type ScriptedBank, serviceOf, startScriptedBank, successOf } from './scripted-bank.ts';
import { SNAP_CASES } from './snap-cases.ts';

/** All the codes that are a verdict on an account. */
const VERDICTS: Readonly<Record<string, string>> = {
  '200 00': 'ACTIVE',
  '403 05': 'BLOCKED',
  '403 07': 'BLOCKED',
  '403 09': 'INACTIVE',
  '403 16': 'BLOCKED',
  '403 18': 'INACTIVE',
  '404 11': 'NOT_FOUND',
};

const ACCOUNT = '1234567890';
const BANKS = { internal: 'BCA', external: 'BRI' } as const;

const statusOf = (outcome: InquiryOutcome): string | null =>
  outcome.kind === 'verdict' ? outcome.verdict.status : null;

const CODES = Object.entries(SNAP_CASES).flatMap(([http, cases]) => cases.map((each) => `${http} ${each}`));

describe("a bank's response code", () => {
  let bank: ScriptedBank;
  let rail: Rail;
  let code = '';
  before(async () => {
    bank = await startScriptedBank({
      inquiry: (request, response) => {
        const [http = '', caseCode = ''] = code.split(' ');
        answer(response, Number(http), {
          ...successOf(request),
          responseCode: `${http}${serviceOf(request)}${caseCode}`,
        });
      },
    });
    rail = bank.rail(rsaKeys());
  });
  after(() => bank.close());

  it('is one of the 63 codes of SNAP, and each verdict has one', () => {
    assert.equal(new Set(CODES).size, 63);
    assert.deepEqual(
      Object.keys(VERDICTS).filter((each) => !CODES.includes(each)),
      [],
    );
  });

  for (const [kind, bankCode] of Object.entries(BANKS)) {
    for (const each of CODES) {
      const expected = VERDICTS[each] ?? null;
      it(`${each} of the ${kind} inquiry is ${expected ?? 'no verdict'}`, async () => {
        code = each;
        const outcome = await inquireAccount(rail, bankCode, ACCOUNT);
        assert.equal(statusOf(outcome), expected);
        // The bank sends a name with every code: only an active account has one.
        const name =
          outcome.kind === 'verdict' && 'accountName' in outcome.verdict ? outcome.verdict.accountName : null;
        assert.equal(name, expected === 'ACTIVE' ? HOLDER : null);
        assert.equal(outcome.railCode, each.replace(' ', kind === 'internal' ? '15' : '16'));
      });
    }
  }

  it('that SNAP does not define is no verdict, whatever its number', () => {
    for (const service of ['15', '16']) {
      for (const status of [100, 200, 201, 202, 204, 302, 400, 401, 403, 404, 409, 410, 422, 429, 500, 502, 503, 504]) {
        for (let number = 0; number < 100; number += 1) {
          const caseCode = String(number).padStart(2, '0');
          const body = JSON.stringify({
            responseCode: `${status}${service}${caseCode}`,
            beneficiaryAccountName: HOLDER,
            beneficiaryAccountNo: ACCOUNT,
          });
          const outcome = accountVerdict(status, body, { service, accountNumber: ACCOUNT, bankCode: null });
          assert.equal(statusOf(outcome), VERDICTS[`${status} ${caseCode}`] ?? null, body);
        }
      }
    }
  });

  it('gives the reason for no verdict, which tells the operator what to do', async () => {
    const reasons: [string, string][] = [
      ['202 00', 'bank_unavailable'],
      ['400 01', 'rejected_by_bank'],
      ['401 00', 'credentials_rejected'],
      // Regression: these were rejected credentials, so accounts that a client chose closed the bank to all others,
      // and a cut-off time sent operators to look for wrong keys.
      ['403 03', 'rejected_by_bank'],
      ['403 06', 'bank_unavailable'],
      ['403 15', 'credentials_rejected'],
      ['404 12', 'rejected_by_bank'],
      ['404 14', 'rejected_by_bank'],
      ['404 16', 'credentials_rejected'],
      ['409 00', 'credentials_rejected'],
      ['429 00', 'throttled'],
      ['500 02', 'bank_unavailable'],
      ['504 00', 'timeout'],
    ];
    for (const [each, reason] of reasons) {
      code = each;
      const outcome = await inquireAccount(rail, 'BRI', ACCOUNT);
      assert.equal(outcome.kind === 'no_verdict' ? outcome.reason : null, reason, each);
    }
  });
});

describe("the internal inquiry's account status", () => {
  const TEXTS: [string, string | null][] = [
    ['Rekening aktif', 'ACTIVE'],
    [' ACTIVE ', 'ACTIVE'],
    ['Rekening tidak aktif', 'INACTIVE'],
    ['DORMANT', 'INACTIVE'],
    ['Rekening diblokir', 'BLOCKED'],
    ['', null],
    ['Rekening aktif (dibatasi)', null],
    ['constructor', null],
    ['__proto__', null],
    ['1', null],
  ];
  for (const [text, expected] of TEXTS) {
    it(`"${text}" is ${expected ?? 'no verdict'}`, () => {
      const body = JSON.stringify({
        responseCode: '2001500',
        beneficiaryAccountName: HOLDER,
        beneficiaryAccountNo: ACCOUNT,
        beneficiaryAccountStatus: text,
      });
      const outcome = accountVerdict(200, body, { service: '15', accountNumber: ACCOUNT, bankCode: null });
      assert.equal(statusOf(outcome), expected);
    });
  }
});

describe('the name of an active account', () => {
  const nameIn = (name: string): string | null => {
    const body = JSON.stringify({
      responseCode: '2001600',
      beneficiaryAccountName: name,
      beneficiaryAccountNo: ACCOUNT,
    });
    const outcome = accountVerdict(200, body, { service: '16', accountNumber: ACCOUNT, bankCode: 'BRINIDJA' });
    return outcome.kind === 'verdict' && outcome.verdict.status === 'ACTIVE' ? outcome.verdict.accountName : null;
  };

  it("is the bank's, without the spaces around it and in Unicode's composed form", () => {
    assert.equal(nameIn('  RENÉ D’ARCY '.normalize('NFD')), 'RENÉ D’ARCY'.normalize('NFC'));
  });

  it('has 100 characters at most', () => {
    assert.equal(nameIn('N'.repeat(100)), 'N'.repeat(100));
    assert.equal(nameIn('😀'.repeat(100)), '😀'.repeat(100));
    assert.equal(nameIn('N'.repeat(101)), null);
  });
});
