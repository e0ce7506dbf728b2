import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { type AccountInquiries, createAccountInquiries } from '../../apps/server/src/rails/account-inquiries.ts';
import type { InquiryOutcome } from '../../apps/server/src/rails/rail.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { inquiryOf } from './connection.ts';
import { withoutRail } from './resilience/scripted-rail.ts';
import { answerActive, EXTERNAL_PATH, INTERNAL_PATH, type ScriptedBank, startScriptedBank } from './scripted-bank.ts';

const keys = rsaKeys();
const ACCOUNT = '1234567890';
const accountOf = (index: number): string => `8888010${String(index).padStart(3, '0')}`;

describe('account inquiries', () => {
  let bank: ScriptedBank;
  let other: ScriptedBank;
  let inquiries: AccountInquiries;
  before(async () => {
    bank = await startScriptedBank();
    other = await startScriptedBank();
    const bca = bank.rail(keys, { name: 'bca', banks: new Set(['CENAIDJA', 'SYCAIDJ1', 'BRINIDJA']) });
    const switchRail = other.rail(keys, { name: 'switch', ownBank: null, banks: new Set(['BRINIDJA', 'BMRIIDJA']) });
    inquiries = createAccountInquiries([bca, switchRail], createMetrics());
  });
  after(async () => {
    await bank.close();
    await other.close();
  });

  let sentBefore = 0;
  beforeEach(() => {
    sentBefore = bank.inquiries.length;
  });
  const sent = () => bank.inquiries.slice(sentBefore);
  const inquire = (code: string, account: string): Promise<InquiryOutcome> =>
    inquiries.inquire(inquiryOf(code, account));

  it('for the same account at the same time make one request to the bank, and all get its outcome', async () => {
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => inquire('BRI', ACCOUNT)));
    assert.equal(sent().length, 1);
    for (const outcome of outcomes) assert.deepEqual(outcome, outcomes[0]);
    assert.equal(outcomes[0]?.kind, 'verdict');
  });

  it('for the same account by another code of its bank share one request', async () => {
    await Promise.all(['BRI', '002', 'brinidja', 'BRINIDJAXXX'].map((code) => inquire(code, ACCOUNT)));
    assert.equal(sent().length, 1);
  });

  it('for different accounts make one request each', async () => {
    await Promise.all(Array.from({ length: 60 }, (_each, index) => inquire('BRI', accountOf(index))));
    assert.equal(sent().length, 60);
    assert.equal(new Set(sent().map(({ fields }) => fields['beneficiaryAccountNo'])).size, 60);
  });

  it('for the same number at different banks, or with another leading zero, make separate requests', async () => {
    await Promise.all([inquire('BRI', ACCOUNT), inquire('BCA', ACCOUNT), inquire('BRI', `0${ACCOUNT}`)]);
    assert.equal(sent().length, 3);
  });

  it('for the same account later make a new request: no outcome is cached', async () => {
    for (let time = 0; time < 3; time += 1) await inquire('BRI', ACCOUNT);
    assert.equal(sent().length, 3);
  });

  it('to the own bank are internal, and name no bank', async () => {
    await inquire('BCA', ACCOUNT);
    assert.deepEqual(
      sent().map(({ path, fields }) => [path, fields['beneficiaryBankCode']]),
      [[INTERNAL_PATH, undefined]],
    );
  });

  it('to other banks are external, and name the bank by its BIC, whichever code the client used', async () => {
    for (const code of ['002', 'BRI', 'bank bri', 'BRINIDJA']) await inquire(code, ACCOUNT);
    assert.deepEqual(
      sent().map(({ path, fields }) => [path, fields['beneficiaryBankCode']]),
      Array.from({ length: 4 }, () => [EXTERNAL_PATH, 'BRINIDJA']),
    );
  });

  it('to a sharia unit are external and name its own BIC, although it shares the clearing code', async () => {
    await inquire('SYCAIDJ1', ACCOUNT);
    assert.deepEqual(
      sent().map(({ path, fields }) => [path, fields['beneficiaryBankCode']]),
      [[EXTERNAL_PATH, 'SYCAIDJ1']],
    );
  });

  it('are sent over the first rail that reaches the bank', async () => {
    const before = other.inquiries.length;
    await inquire('BRI', ACCOUNT);
    assert.equal(other.inquiries.length, before);
    await inquire('MANDIRI', ACCOUNT);
    assert.deepEqual(
      other.inquiries.slice(before).map(({ fields }) => fields['beneficiaryBankCode']),
      ['BMRIIDJA'],
    );
  });

  it('to a bank that no rail reaches are no verdict, with the reason no_rail', async () => {
    assert.equal(inquiries.canReach(inquiryOf('BNI', ACCOUNT).bank), false);
    assert.deepEqual(await inquire('BNI', ACCOUNT), { kind: 'no_verdict', reason: 'no_rail', railCode: null });
    assert.deepEqual(sent(), []);
  });
});

describe('an account inquiry to a silent bank', () => {
  it('ends after 3 s to 5 s, and the next one is sent anew', async () => {
    let isSilent = true;
    const bank = await startScriptedBank({
      inquiry: (request, response) => (isSilent ? undefined : answerActive(request, response)),
    });
    try {
      const inquiries = createAccountInquiries([bank.rail(keys)], createMetrics());
      const startedMs = performance.now();
      const outcome = await inquiries.inquire(inquiryOf('BRI', ACCOUNT));
      const tookMs = performance.now() - startedMs;
      assert.deepEqual(withoutRail(outcome), { kind: 'no_verdict', reason: 'timeout', railCode: null });
      assert.ok(tookMs > 3_000 && tookMs < timeLimitMs(5_000), `took ${tookMs} ms`);
      isSilent = false;
      assert.equal((await inquiries.inquire(inquiryOf('BRI', ACCOUNT))).kind, 'verdict');
    } finally {
      await bank.close();
    }
  });
});
