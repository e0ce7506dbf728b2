import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { outcomeOf, type Partner, startBankWithPartner, withHeader } from './partner.ts';
import { INTERBANK_ORDER, INTERBANK_PATH, INTRABANK_ORDER, INTRABANK_PATH } from './transfers.ts';

const SERVICES = [
  { service: '17', path: INTRABANK_PATH, order: INTRABANK_ORDER },
  { service: '18', path: INTERBANK_PATH, order: INTERBANK_ORDER },
] as const;

describe('a transfer', () => {
  let partner: Partner;
  let close: () => Promise<void>;
  let references = 0;
  before(async () => {
    ({ partner, close } = await startBankWithPartner());
    await partner.authorize();
  });
  after(() => close());

  /** Sends an order with a new reference, unless `changes` has one. */
  function order(service: (typeof SERVICES)[number], changes: object = {}) {
    references += 1;
    return partner.send(service.path, { ...service.order, partnerReferenceNo: `REF-${references}`, ...changes });
  }

  it('within the bank is accepted with its reference (service 17)', async () => {
    const answer = await partner.send(INTRABANK_PATH, INTRABANK_ORDER);
    const { referenceNo, ...others } = answer.fields;
    assert.equal(answer.status, 200);
    assert.match(String(referenceNo), /^\d{22}$/);
    assert.deepEqual(others, {
      responseCode: '2001700',
      responseMessage: 'Successful',
      partnerReferenceNo: 'PAY-17',
      amount: { value: '150000.00', currency: 'IDR' },
      beneficiaryAccountNo: '8888010001',
      sourceAccountNo: '8888019999',
      transactionDate: '2026-11-21T10:30:24+07:00',
    });
  });

  it('to another bank is accepted with its reference (service 18)', async () => {
    const answer = await partner.send(INTERBANK_PATH, INTERBANK_ORDER);
    const { referenceNo, ...others } = answer.fields;
    assert.equal(answer.status, 200);
    assert.match(String(referenceNo), /^\d{22}$/);
    assert.deepEqual(others, {
      responseCode: '2001800',
      responseMessage: 'Successful',
      partnerReferenceNo: 'PAY-18',
      amount: { value: '150000.00', currency: 'IDR' },
      beneficiaryAccountNo: '888801000157508',
      beneficiaryBankCode: '002',
      sourceAccountNo: '8888019999',
    });
  });

  for (const each of SERVICES) {
    const { service, path } = each;

    for (const field of Object.keys(each.order)) {
      it(`is rejected without ${field} (service ${service})`, async () => {
        for (const missing of [undefined, null, '']) {
          const answer = await order(each, { [field]: missing });
          assert.equal(outcomeOf(answer), `400 400${service}02 Invalid Mandatory Field {${field}}`);
        }
      });
    }

    for (const part of ['value', 'currency'] as const) {
      it(`is rejected without the ${part} of its amount (service ${service})`, async () => {
        const answer = await order(each, { amount: { ...each.order.amount, [part]: undefined } });
        assert.equal(outcomeOf(answer), `400 400${service}02 Invalid Mandatory Field {amount.${part}}`);
      });
    }

    const malformed: [field: string, ...values: unknown[]][] = [
      ['partnerReferenceNo', 'R'.repeat(65), 17],
      ['amount', '150000.00', 150_000, []],
      ['beneficiaryAccountNo', 8_888_010_001, '8888-10001', '1'.repeat(35), '8888010001\n'],
      ['sourceAccountNo', 8_888_019_999, '88880A', '1'.repeat(20)],
      ['transactionDate', '2026-11-21', '2026-11-21T10:30:24', '2026-11-31T10:30:24+07:00', 1_795_231_824],
      ['additionalInfo', 'teller', []],
    ];
    for (const [field, ...values] of malformed) {
      it(`is rejected with a malformed ${field} (service ${service})`, async () => {
        for (const value of values) {
          const outcome = outcomeOf(await order(each, { [field]: value }));
          assert.equal(outcome, `400 400${service}01 Invalid Field Format {${field}}`, JSON.stringify(value));
        }
      });
    }

    it(`is rejected with an amount that is not rupiah with two decimals (service ${service})`, async () => {
      for (const value of [
        150_000,
        '150000',
        '150000.0',
        '-1.00',
        '+1.00',
        '01.00',
        '1e3',
        '1,00',
        `${'9'.repeat(17)}.00`,
      ]) {
        const outcome = outcomeOf(await order(each, { amount: { value, currency: 'IDR' } }));
        assert.equal(outcome, `400 400${service}01 Invalid Field Format {amount.value}`, String(value));
      }
      for (const currency of ['USD', 'idr', 360]) {
        const outcome = outcomeOf(await order(each, { amount: { value: '1.00', currency } }));
        assert.equal(outcome, `400 400${service}01 Invalid Field Format {amount.currency}`, String(currency));
      }
    });

    it(`of zero is rejected, and the largest amount is accepted exactly (service ${service})`, async () => {
      const none = await order(each, { amount: { value: '0.00', currency: 'IDR' } });
      assert.equal(outcomeOf(none), `404 404${service}13 Invalid Amount`);
      const amount = { value: `${'9'.repeat(16)}.99`, currency: 'IDR' };
      const all = await order(each, { amount });
      assert.equal(all.status, 200);
      assert.deepEqual(all.fields['amount'], amount);
    });

    it(`is rejected without a valid token, signature, timestamp or external id (service ${service})`, async () => {
      const rejections = [
        [withHeader('Authorization', 'Bearer unknown'), `401 401${service}01 Invalid Token (B2B)`],
        [withHeader('X-SIGNATURE', 'forged'), `401 401${service}00 Unauthorized. [Signature]`],
        [withHeader('X-TIMESTAMP', '2020-01-01T00:00:00Z'), `401 401${service}00 Unauthorized. [X-TIMESTAMP]`],
        [withHeader('X-EXTERNAL-ID', 'abc'), `400 400${service}01 Invalid Field Format {X-EXTERNAL-ID}`],
        [withHeader('X-EXTERNAL-ID'), `400 400${service}02 Invalid Mandatory Field {X-EXTERNAL-ID}`],
      ] as const;
      for (const [change, outcome] of rejections) {
        assert.equal(outcomeOf(await partner.send(path, each.order, change)), outcome);
      }
      const used = withHeader('X-EXTERNAL-ID', `9900${service}`);
      assert.equal((await partner.send(path, { ...each.order, partnerReferenceNo: `X-${service}` }, used)).status, 200);
      assert.equal(outcomeOf(await partner.send(path, each.order, used)), `409 409${service}00 Conflict`);
    });

    it(`is rejected when its body is not a JSON object (service ${service})`, async () => {
      for (const bodyText of ['', '[]', '{"amount":']) {
        assert.equal(outcomeOf(await partner.send(path, {}, { bodyText })), `400 400${service}00 Bad Request`);
      }
    });

    it(`with a used reference is rejected, with the same or other fields, in either service (${service})`, async () => {
      const partnerReferenceNo = `TWICE-${service}`;
      assert.equal((await order(each, { partnerReferenceNo })).status, 200);
      const changed = { partnerReferenceNo, amount: { value: '1.00', currency: 'IDR' } };
      for (const again of [await order(each, { partnerReferenceNo }), await order(each, changed)]) {
        assert.equal(outcomeOf(again), `409 409${service}01 Duplicate partnerReferenceNo`);
      }
      for (const other of SERVICES) {
        assert.equal((await order(other, { partnerReferenceNo })).fields['responseCode'], `409${other.service}01`);
      }
    });

    it(`that was rejected does not use up its reference (service ${service})`, async () => {
      const partnerReferenceNo = `FREE-${service}`;
      assert.equal((await order(each, { partnerReferenceNo, sourceAccountNo: '' })).status, 400);
      assert.equal((await order(each, { partnerReferenceNo })).status, 200);
    });
  }

  it('ordered fifty times concurrently with one reference is accepted once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => order(SERVICES[1], { partnerReferenceNo: 'RACE' })),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(answers.filter(({ fields }) => fields['responseCode'] === '4091801').length, 49);
  });

  it('to another bank requires a name of at most 100 characters and a bank code', async () => {
    const [, interbank] = SERVICES;
    assert.equal((await order(interbank, { beneficiaryAccountName: 'Ñ'.repeat(100) })).status, 200);
    const longName = await order(interbank, { beneficiaryAccountName: 'N'.repeat(101) });
    assert.equal(outcomeOf(longName), '400 4001801 Invalid Field Format {beneficiaryAccountName}');
    for (const beneficiaryBankCode of ['14', 'BCA', 'cenaidja', 14]) {
      const outcome = outcomeOf(await order(interbank, { beneficiaryBankCode }));
      assert.equal(outcome, '400 4001801 Invalid Field Format {beneficiaryBankCode}', String(beneficiaryBankCode));
    }
  });
});
