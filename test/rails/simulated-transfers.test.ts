import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type RunningBank, startBank } from '../../apps/bank/src/server.ts';
import type { Rail, StatusInquiryOutcome } from '../../apps/server/src/rails/rail.ts';
import { createClock, createPartner, type Partner, partnerSettings } from '../bank/partner.ts';
import { advanceClock, orderTransfer } from '../bank/transfers.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { createRail, inquireStatus, inquiryOf, transferTo } from './connection.ts';

/**
 * The status of a transfer at the simulated bank after an hour, by the last four digits of its account
 * (docs/simulated-bank.md).
 */
const ENDINGS: Readonly<Record<string, string>> = {
  '0000': 'SUCCESS',
  '2030': 'SUCCESS',
  '4411': 'FAILED ACCOUNT_NOT_FOUND',
  '4318': 'FAILED ACCOUNT_INACTIVE',
  '4309': 'FAILED ACCOUNT_DORMANT',
  '4305': 'FAILED ACCOUNT_BLOCKED',
  // SNAP has no code for a wrong name.
  '4315': 'FAILED REJECTED_BY_BANK',
  '4302': 'FAILED AMOUNT_LIMIT_EXCEEDED',
  '4314': 'FAILED INSUFFICIENT_FUNDS',
  '4303': 'FAILED SUSPECTED_FRAUD',
  '5400': 'FAILED BANK_UNAVAILABLE',
  '4404': 'FAILED CANCELLED',
  '4400': 'FAILED REFUNDED',
  '7600': 'SUCCESS',
  '3607': 'unknown_transfer',
  '3603': 'PROCESS',
};

let bank: RunningBank;
let partner: Partner;
let rail: Rail;

before(async () => {
  const keys = rsaKeys();
  const settings = partnerSettings(keys);
  // Its clock stands still, so that no transfer ends during the first inquiries.
  bank = await startBank(settings, createClock(new Date().toISOString()).now);
  partner = createPartner(bank.baseUrl, settings, keys);
  await partner.authorize();
  const { clientKey, clientSecret, partnerId, channelId } = settings;
  rail = createRail(bank.baseUrl, keys, { clientKey, clientSecret, partnerId, channelId });
});
after(async () => {
  await rail?.close();
  await bank?.close();
});

const inquire = (reference: string, ending: string): Promise<StatusInquiryOutcome> =>
  inquireStatus(rail, transferTo('BRI', { ...inquiryOf('BRI', `88880100${ending}`), reference }));

const labelOf = (outcome: StatusInquiryOutcome): string =>
  outcome.kind === 'status' ? [outcome.status, outcome.failureReason].join(' ').trim() : outcome.kind;

describe('status inquiries to the simulated bank', () => {
  it('report each transfer as pending at first, and then as its account determines', async () => {
    for (const ending of Object.keys(ENDINGS)) await orderTransfer(partner, `PAY-${ending}`, ending);
    for (const [ending, last] of Object.entries(ENDINGS)) {
      assert.equal(
        labelOf(await inquire(`PAY-${ending}`, ending)),
        last === 'unknown_transfer' ? last : 'PROCESS',
        ending,
      );
    }
    await advanceClock(bank.baseUrl, 3_600);
    for (const [ending, last] of Object.entries(ENDINGS)) {
      assert.equal(labelOf(await inquire(`PAY-${ending}`, ending)), last, ending);
    }
  });

  it('report a transfer that was never ordered, or by another service, as unknown', async () => {
    assert.equal(labelOf(await inquire('PAY-NEVER', '0000')), 'unknown_transfer');
    const inquiry = transferTo('BCA', { ...inquiryOf('BRI', '888801000000'), reference: 'PAY-0000' });
    const toOwnBank = { ...inquiry, bank: inquiryOf('BCA', '8888010000').bank };
    assert.equal(labelOf(await inquireStatus(rail, toOwnBank)), 'unknown_transfer');
  });

  it('give no status for a transfer with another amount', async () => {
    const inquiry = transferTo('BRI', { ...inquiryOf('BRI', '888801000000'), reference: 'PAY-0000', amount: '1.00' });
    assert.equal((await inquireStatus(rail, inquiry)).kind, 'no_status');
  });
});
