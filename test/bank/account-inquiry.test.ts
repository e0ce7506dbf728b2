import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { EXTERNAL_PATH, INTERNAL_PATH, outcomeOf, type Partner, startBankWithPartner } from './partner.ts';

describe('the account inquiries', () => {
  let partner: Partner;
  let close: () => Promise<void>;
  before(async () => {
    ({ partner, close } = await startBankWithPartner());
    await partner.authorize();
  });
  after(() => close());

  function inquireExternal(beneficiaryBankCode: unknown, beneficiaryAccountNo: unknown, others: object = {}) {
    return partner.send(EXTERNAL_PATH, { beneficiaryBankCode, beneficiaryAccountNo, ...others });
  }

  function inquireInternal(beneficiaryAccountNo: unknown, others: object = {}) {
    return partner.send(INTERNAL_PATH, { beneficiaryAccountNo, ...others });
  }

  it('describe an active account at this bank with its status and type (service 15)', async () => {
    const answer = await inquireInternal('8888010001', { partnerReferenceNo: 'PAY-1' });
    const { referenceNo, beneficiaryAccountName, ...others } = answer.fields;
    assert.equal(answer.status, 200);
    assert.match(String(referenceNo), /^\d{22}$/);
    assert.match(String(beneficiaryAccountName), /^[A-Z]+ [A-Z]+$/);
    assert.deepEqual(others, {
      responseCode: '2001500',
      responseMessage: 'Successful',
      partnerReferenceNo: 'PAY-1',
      beneficiaryAccountNo: '8888010001',
      beneficiaryAccountStatus: 'Rekening aktif',
      beneficiaryAccountType: 'S',
      currency: 'IDR',
    });
    assert.equal(answer.headers.get('content-type'), 'application/json');
  });

  it('describe an active account at another bank without a status (service 16)', async () => {
    const answer = await inquireExternal('002', '888801000157508', { partnerReferenceNo: 'PAY-2', additionalInfo: {} });
    const { referenceNo, beneficiaryAccountName, ...others } = answer.fields;
    assert.equal(answer.status, 200);
    assert.match(String(referenceNo), /^\d{22}$/);
    assert.match(String(beneficiaryAccountName), /^[A-Z]+ [A-Z]+$/);
    assert.deepEqual(others, {
      responseCode: '2001600',
      responseMessage: 'Successful',
      partnerReferenceNo: 'PAY-2',
      beneficiaryAccountNo: '888801000157508',
      beneficiaryBankCode: '002',
      beneficiaryBankName: 'BANK BRI',
      currency: 'IDR',
    });
  });

  it('omit a reference that the partner did not send, and the name of an unknown bank', async () => {
    const { fields } = await inquireExternal('ABCDIDJ1XXX', '12345');
    assert.equal('partnerReferenceNo' in fields, false);
    assert.equal('beneficiaryBankName' in fields, false);
  });

  it('return a unique referenceNo in each response', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => inquireExternal('002', '12345')));
    assert.equal(new Set(answers.map(({ fields }) => fields['referenceNo'])).size, 50);
  });

  it('return the same holder for the same number, in at most 24 characters, and different holders for most numbers', async () => {
    const numbers = Array.from({ length: 200 }, (_, index) => String(8_888_010_600 + index));
    const names = await Promise.all(
      numbers.map(async (number) => (await inquireInternal(number)).fields['beneficiaryAccountName']),
    );
    for (const name of names) assert.match(String(name), /^(?=.{1,24}$)[A-Z]+ [A-Z]+$/);
    assert.ok(new Set(names).size > 150);
    const [first = ''] = numbers;
    assert.equal((await inquireInternal(first)).fields['beneficiaryAccountName'], names[0]);
    assert.equal((await inquireExternal('CENAIDJA', first)).fields['beneficiaryAccountName'], names[0]);
  });

  it('return the names that the documentation shows', async () => {
    assert.equal((await inquireInternal('8888010001')).fields['beneficiaryAccountName'], 'RATNA TANJUNG');
    assert.equal((await inquireExternal('002', '888801000157508')).fields['beneficiaryAccountName'], 'ADI ANGGRAINI');
  });

  const outcomes: [
    ending: string,
    description: string,
    status: number,
    code: (service: string) => string,
    message: string,
  ][] = [
    ['0404', 'not found', 404, (service) => `404${service}11`, 'Invalid Account'],
    ['0410', 'inactive', 403, (service) => `403${service}18`, 'Inactive Account'],
    ['0403', 'blocked', 403, (service) => `403${service}05`, 'Do Not Honor'],
    ['0503', 'unavailable', 500, (service) => `500${service}02`, 'External Server Error'],
    ['0429', 'too many requests', 429, (service) => `429${service}00`, 'Too Many Requests'],
  ];
  for (const [ending, description, status, code, message] of outcomes) {
    it(`return ${description} for an account that ends in ${ending}`, async () => {
      const internal = await inquireInternal(`888801${ending}`);
      assert.equal(outcomeOf(internal), `${status} ${code('15')} ${message}`);
      const external = await inquireExternal('BRINIDJA', `88880100015${ending}`);
      assert.equal(outcomeOf(external), `${status} ${code('16')} ${message}`);
    });
  }

  it('return HTML with status 200 for an account that ends in 0500', async () => {
    for (const answer of [await inquireInternal('8888010500'), await inquireExternal('002', '888801000150500')]) {
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
      assert.match(answer.text, /^<!DOCTYPE html>/);
    }
  });

  it('require exactly ten digits for an account at this bank, with every code of the bank', async () => {
    for (const number of ['123456789', '12345678901']) {
      assert.equal(outcomeOf(await inquireInternal(number)), '404 4041511 Invalid Account');
      for (const bankCode of ['014', 'CENAIDJA', 'CENAIDJAXXX']) {
        assert.equal(outcomeOf(await inquireExternal(bankCode, number)), '404 4041611 Invalid Account');
      }
    }
    assert.equal((await inquireExternal('CENAIDJAXXX', '1234567890')).status, 200);
  });

  it('accept 5 to 34 digits for another bank', async () => {
    assert.equal((await inquireExternal('002', '12345')).status, 200);
    assert.equal((await inquireExternal('002', '1'.repeat(34))).status, 200);
    assert.equal(outcomeOf(await inquireExternal('002', '1234')), '404 4041611 Invalid Account');
  });

  it('reject an account number that is missing', async () => {
    for (const missing of [undefined, null, '']) {
      const outcome = outcomeOf(await inquireInternal(missing));
      assert.equal(outcome, '400 4001502 Invalid Mandatory Field {beneficiaryAccountNo}');
    }
  });

  it('reject an account number that is not 1 to 34 digits in a string', async () => {
    for (const wrong of [
      1_234_567_890,
      '12345-7890',
      ' 1234567890',
      '١٢٣٤٥٦٧٨٩٠',
      '1234567890\n',
      '1'.repeat(35),
      ['1'],
    ]) {
      const outcome = outcomeOf(await inquireInternal(wrong));
      assert.equal(outcome, '400 4001501 Invalid Field Format {beneficiaryAccountNo}', JSON.stringify(wrong));
    }
  });

  it('reject a bank code that is missing', async () => {
    const outcome = outcomeOf(await inquireExternal(undefined, '12345'));
    assert.equal(outcome, '400 4001602 Invalid Mandatory Field {beneficiaryBankCode}');
  });

  it('reject a bank code that is neither three digits nor a BIC', async () => {
    for (const wrong of ['14', '0140', 'BCA', 'cenaidja', 'CENAIDJAXX', 'CENAIDJAXXXX', '1ENAIDJA', 14]) {
      const outcome = outcomeOf(await inquireExternal(wrong, '1234567890'));
      assert.equal(outcome, '400 4001601 Invalid Field Format {beneficiaryBankCode}', String(wrong));
    }
  });

  it('reject a partnerReferenceNo longer than 64 characters', async () => {
    assert.equal((await inquireInternal('8888010001', { partnerReferenceNo: 'R'.repeat(64) })).status, 200);
    const answer = await inquireInternal('8888010001', { partnerReferenceNo: 'R'.repeat(65) });
    assert.equal(outcomeOf(answer), '400 4001501 Invalid Field Format {partnerReferenceNo}');
  });

  it('reject an additionalInfo that is not an object', async () => {
    const answer = await inquireInternal('8888010001', { additionalInfo: 'teller' });
    assert.equal(outcomeOf(answer), '400 4001501 Invalid Field Format {additionalInfo}');
  });

  it('reject a signed body that is not a JSON object', async () => {
    for (const bodyText of ['', 'null', '[]', '"text"', '{"beneficiaryAccountNo":"8888010001"', '{"a":1,}']) {
      const answer = await partner.send(INTERNAL_PATH, {}, { bodyText });
      assert.equal(outcomeOf(answer), '400 4001500 Bad Request', bodyText);
    }
  });

  it('reject a signed body that is not UTF-8', async () => {
    const bodyText = Uint8Array.from(
      Buffer.from('{"beneficiaryAccountNo":"8888010001","partnerReferenceNo":"\xe9"}', 'latin1'),
    );
    const answer = await partner.send(INTERNAL_PATH, {}, { bodyText });
    assert.equal(outcomeOf(answer), '400 4001500 Bad Request');
  });
});
