import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { RunningBank } from '../../apps/bank/src/server.ts';
import { outcomeOf, type Partner, startBankWithPartner, withHeader } from './partner.ts';
import {
  advanceClock,
  INTERBANK_ORDER,
  INTERBANK_PATH,
  INTRABANK_ORDER,
  INTRABANK_PATH,
  inquireStatus,
  orderTransfer,
  STATUS_PATH,
  statusOf,
} from './transfers.ts';

const NOT_FOUND = '404 4043601 Transaction Not Found';

describe('the transfer status inquiry', () => {
  let bank: RunningBank;
  let partner: Partner;
  let close: () => Promise<void>;
  let interbankReference = '';
  let intrabankReference = '';
  before(async () => {
    ({ bank, partner, close } = await startBankWithPartner());
    await partner.authorize();
    const interbank = await partner.send(INTERBANK_PATH, INTERBANK_ORDER);
    const intrabank = await partner.send(INTRABANK_PATH, INTRABANK_ORDER);
    interbankReference = String(interbank.fields['referenceNo']);
    intrabankReference = String(intrabank.fields['referenceNo']);
  });
  after(() => close());

  function inquire(fields: object) {
    return partner.send(STATUS_PATH, { originalPartnerReferenceNo: 'PAY-18', serviceCode: '18', ...fields });
  }

  it('describes a transfer with its status, first pending, then final', async () => {
    await orderTransfer(partner, 'DESCRIBED', '0001');
    const pending = await inquireStatus(partner, 'DESCRIBED');
    assert.equal(pending.fields['latestTransactionStatus'], '03');
    assert.equal(pending.fields['transactionStatusDesc'], 'Pending');
    await advanceClock(bank.baseUrl, 2);
    const { status, fields } = await inquire({});
    assert.equal(status, 200);
    assert.deepEqual(fields, {
      responseCode: '2003600',
      responseMessage: 'Successful',
      originalReferenceNo: interbankReference,
      originalPartnerReferenceNo: 'PAY-18',
      serviceCode: '18',
      transactionDate: '2026-11-21T10:30:24+07:00',
      amount: { value: '150000.00', currency: 'IDR' },
      beneficiaryAccountNo: '888801000157508',
      beneficiaryBankCode: '002',
      sourceAccountNo: '8888019999',
      referenceNumber: interbankReference,
      latestTransactionStatus: '00',
      transactionStatusDesc: 'Success',
    });
  });

  it('finds a transfer by either reference, and by both', async () => {
    const partnerReference = { originalPartnerReferenceNo: 'PAY-17' };
    const bankReference = { originalReferenceNo: intrabankReference };
    for (const references of [partnerReference, bankReference, { ...partnerReference, ...bankReference }]) {
      const { fields } = await partner.send(STATUS_PATH, { ...references, serviceCode: '17' });
      assert.equal(fields['originalReferenceNo'], intrabankReference);
      assert.equal(fields['originalPartnerReferenceNo'], 'PAY-17');
      assert.equal(fields['beneficiaryBankCode'], 'CENAIDJA');
    }
  });

  it('finds no transfer by an unknown reference, a reference of the other kind, or references of two transfers', async () => {
    for (const references of [
      { originalPartnerReferenceNo: 'NEVER' },
      { originalPartnerReferenceNo: 'pay-18' },
      { originalPartnerReferenceNo: interbankReference },
      { originalPartnerReferenceNo: '', originalReferenceNo: 'PAY-18' },
      { originalReferenceNo: intrabankReference },
      { originalPartnerReferenceNo: 'NEVER', originalReferenceNo: interbankReference },
    ]) {
      assert.equal(outcomeOf(await inquire(references)), NOT_FOUND, JSON.stringify(references));
    }
  });

  it('finds no transfer with the code of another service', async () => {
    assert.equal(outcomeOf(await inquire({ serviceCode: '17' })), NOT_FOUND);
    assert.equal(outcomeOf(await inquire({ serviceCode: '22' })), NOT_FOUND);
    assert.equal(outcomeOf(await inquireStatus(partner, 'PAY-17', '18')), NOT_FOUND);
  });

  it('requires a service code and a reference', async () => {
    const noService = await inquire({ serviceCode: undefined });
    assert.equal(outcomeOf(noService), '400 4003602 Invalid Mandatory Field {serviceCode}');
    const noReference = await inquire({ originalPartnerReferenceNo: undefined });
    assert.equal(outcomeOf(noReference), '400 4003602 Invalid Mandatory Field {originalPartnerReferenceNo}');
  });

  it('rejects malformed fields', async () => {
    for (const [field, value] of [
      ['originalPartnerReferenceNo', 'R'.repeat(65)],
      ['originalReferenceNo', 18],
      ['originalExternalId', '12a'],
      ['serviceCode', '018'],
      ['serviceCode', 18],
      ['transactionDate', '21-11-2026'],
      ['amount', '150000.00'],
      ['additionalInfo', 'teller'],
    ] as const) {
      const outcome = outcomeOf(await inquire({ [field]: value }));
      assert.equal(outcome, `400 4003601 Invalid Field Format {${field}}`, String(value));
    }
  });

  it('rejects an amount that differs from the transfer’s, and accepts the equal one', async () => {
    const wrong = await inquire({ amount: { value: '150000.01', currency: 'IDR' } });
    assert.equal(outcomeOf(wrong), '404 4043613 Invalid Amount');
    assert.equal((await inquire({ amount: { value: '150000.00', currency: 'IDR' } })).status, 200);
  });

  it('is rejected without a valid token or signature, and with an external id used before', async () => {
    const fields = { originalPartnerReferenceNo: 'PAY-18', serviceCode: '18' };
    const token = await partner.send(STATUS_PATH, fields, withHeader('Authorization', 'Bearer unknown'));
    assert.equal(outcomeOf(token), '401 4013601 Invalid Token (B2B)');
    const signature = await partner.send(STATUS_PATH, fields, withHeader('X-SIGNATURE', 'forged'));
    assert.equal(outcomeOf(signature), '401 4013600 Unauthorized. [Signature]');
    const used = withHeader('X-EXTERNAL-ID', '990036');
    assert.equal((await partner.send(STATUS_PATH, fields, used)).status, 200);
    assert.equal(outcomeOf(await partner.send(STATUS_PATH, fields, used)), '409 4093600 Conflict');
  });

  it('finds no transfer that is 31 days old, whose reference may be used again', async () => {
    const secondsKept = 31 * 24 * 60 * 60;
    await orderTransfer(partner, 'OLD', '0001');
    await advanceClock(bank.baseUrl, secondsKept - 60);
    assert.equal(await statusOf(partner, 'OLD'), '00');
    await advanceClock(bank.baseUrl, 60);
    assert.equal(await statusOf(partner, 'OLD'), '4043601');
    await orderTransfer(partner, 'OLD', '0001');
    assert.equal(await statusOf(partner, 'OLD'), '03');
  });
});
