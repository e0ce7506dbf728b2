import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Rail, StatusInquiryOutcome } from '../../apps/server/src/rails/rail.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { inquireStatus, transferTo } from './connection.ts';
import {
  answer,
  answerStatus,
  type BankAnswer,
  type ScriptedBank,
  startScriptedBank,
  statusReplyOf,
  TRANSFER_STATUS_PATH,
} from './scripted-bank.ts';
import { SNAP_CASES } from './snap-cases.ts';

let bank: ScriptedBank;
let rail: Rail;
let script: BankAnswer = answerStatus('00');

before(async () => {
  bank = await startScriptedBank({ status: (request, response) => script(request, response) });
  rail = bank.rail(rsaKeys());
});
after(() => bank?.close());

async function outcomeOf(scripted: BankAnswer, inquiry = transferTo('BRI')): Promise<StatusInquiryOutcome> {
  script = scripted;
  return inquireStatus(rail, inquiry);
}

/** The effect of an outcome: `none` changes nothing. */
const effectOf = (outcome: StatusInquiryOutcome): string =>
  outcome.kind === 'status' ? outcome.status : outcome.kind === 'no_status' ? `none: ${outcome.reason}` : outcome.kind;

describe('a status inquiry', () => {
  for (const [code, service] of [
    ['BCA', '17'],
    ['BRI', '18'],
  ] as const) {
    it(`is signed, and has the reference and the service ${service} of a transfer to ${code}`, async () => {
      await outcomeOf(answerStatus('03'), transferTo(code));
      const { method, path, headers, body } = bank.statusInquiries.at(-1) ?? assert.fail('it was not received');
      assert.deepEqual([method, path], ['POST', TRANSFER_STATUS_PATH]);
      assert.deepEqual(JSON.parse(body), {
        originalPartnerReferenceNo: 'TRANSFER-1',
        serviceCode: service,
        transactionDate: '2026-11-21T11:32:26+07:00',
        amount: { value: '150000.00', currency: 'IDR' },
      });
      assert.match(headers['x-signature']?.toString() ?? '', /^[A-Za-z0-9+/]{86}==$/);
      assert.match(headers['x-external-id']?.toString() ?? '', /^\d{19}$/);
      assert.match(headers.authorization ?? '', /^Bearer token-/);
    });
  }

  // Regression: all transfers were inquired about as 17 or 18, so the bank did not know those of RTGS and SKN.
  it('has the service 22 or 23 of a transfer that the core has ordered by RTGS or SKN', async () => {
    for (const serviceCode of ['22', '23']) {
      const outcome = await outcomeOf(answerStatus('00'), transferTo('BCA', { serviceCode }));
      assert.equal(bank.statusInquiries.at(-1)?.fields['serviceCode'], serviceCode);
      assert.equal(effectOf(outcome), 'SUCCESS');
    }
    // A client may order otherwise than the core does at the bank.
    for (const serviceCode of ['17', '43']) {
      await outcomeOf(answerStatus('00'), transferTo('BRI', { serviceCode }));
      assert.equal(bank.statusInquiries.at(-1)?.fields['serviceCode'], '18');
    }
  });

  it('has the service for another bank when the bank is not in the directory', async () => {
    await outcomeOf(answerStatus('03'), transferTo('BCA', { bank: null }));
    assert.equal(bank.statusInquiries.at(-1)?.fields['serviceCode'], '18');
  });

  it('is repeated with a new token and a new X-EXTERNAL-ID when the bank has revoked the token', async () => {
    const earlier = bank.statusInquiries.length;
    let isRejected = false;
    const outcome = await outcomeOf((request, response) => {
      if (isRejected) return answerStatus('00')(request, response);
      isRejected = true;
      return answer(response, 401, { responseCode: '4013601', responseMessage: 'Invalid Token (B2B)' });
    });
    assert.equal(effectOf(outcome), 'SUCCESS');
    const [first, second, ...more] = bank.statusInquiries.slice(earlier);
    assert.equal(more.length, 0);
    assert.notEqual(first?.headers.authorization, second?.headers.authorization);
    assert.notEqual(first?.headers['x-external-id'], second?.headers['x-external-id']);
  });

  // Regression: a reply that named the order of another transfer was believed.
  it('that names the X-EXTERNAL-ID of the order does not believe a reply with another one', async () => {
    const naming = bank.rail(rsaKeys(), { choices: { externalIdIsReference: true } });
    const reply = async (originalExternalId: unknown) => {
      script = answerStatus('06', { originalExternalId });
      return effectOf(await inquireStatus(naming, transferTo('BRI', { reference: '1234567890' })));
    };
    for (const own of ['1234567890', 1234567890, '', undefined, null]) {
      assert.equal(await reply(own), 'FAILED');
      assert.equal(bank.statusInquiries.at(-1)?.fields['originalExternalId'], '1234567890');
    }
    for (const other of ['1234567891', ['1234567890'], { value: '1234567890' }]) {
      assert.equal(await reply(other), 'none: invalid_response', JSON.stringify(other));
    }
    // Otherwise it is an ID of the core, which is not known here.
    assert.equal(effectOf(await outcomeOf(answerStatus('06', { originalExternalId: '7' }))), 'FAILED');
  });

  it('ends when its signal fires', async () => {
    script = () => {};
    const outcome = await rail.inquireStatus?.(transferTo('BRI'), AbortSignal.timeout(50));
    assert.deepEqual(outcome, { kind: 'no_status', reason: 'timeout', railCode: null });
  });
});

/** Codes of a transfer that count as its success: inconsistent request, duplicate reference (ASPI). */
const PERHAPS_EXECUTED = ['404 18', '409 01'];

describe('latestTransactionStatus', () => {
  const STATUSES: Readonly<Record<string, StatusInquiryOutcome>> = {
    '00': { kind: 'status', status: 'SUCCESS', railCode: '2003600 00' },
    '01': { kind: 'status', status: 'PROCESS', railCode: '2003600 01' },
    '02': { kind: 'status', status: 'PROCESS', railCode: '2003600 02' },
    '03': { kind: 'status', status: 'PROCESS', railCode: '2003600 03' },
    '04': { kind: 'status', status: 'FAILED', failureReason: 'REFUNDED', reversed: true, railCode: '2003600 04' },
    '05': { kind: 'status', status: 'FAILED', failureReason: 'CANCELLED', railCode: '2003600 05' },
    '06': { kind: 'status', status: 'FAILED', failureReason: 'REJECTED_BY_BANK', railCode: '2003600 06' },
    '07': { kind: 'unknown_transfer', railCode: '2003600 07' },
  };
  for (const [status, expected] of Object.entries(STATUSES)) {
    it(`${status} is ${effectOf(expected)}`, async () => {
      assert.deepEqual(await outcomeOf(answerStatus(status)), expected);
    });
  }
  for (const status of ['08', '0', '000', '99', '', ' 00', 'SUCCESS', 'toString', undefined, null, 0, ['00']]) {
    it(`${JSON.stringify(status)} changes nothing`, async () => {
      const outcome = await outcomeOf(answerStatus('00', { latestTransactionStatus: status }));
      assert.equal(effectOf(outcome), 'none: invalid_response');
    });
  }

  // Regression: FAILED for transfers that the bank had executed. A client disburses a failed transfer again.
  it('05 and 06 change nothing with the code of a transfer that counts as executed', async () => {
    for (const meaning of PERHAPS_EXECUTED) {
      for (const status of ['05', '06']) {
        const previousResponseCode = meaning.replace(' ', '18');
        assert.deepEqual(await outcomeOf(answerStatus(status, { previousResponseCode })), {
          kind: 'no_status',
          reason: 'invalid_response',
          railCode: `2003600 ${status} ${previousResponseCode}`,
        });
      }
    }
  });

  it('06 has the failure reason of the response code that rejected the transfer', async () => {
    const FAILURE_REASONS: Readonly<Record<string, string>> = {
      '403 02': 'AMOUNT_LIMIT_EXCEEDED',
      '403 03': 'SUSPECTED_FRAUD',
      '403 04': 'ACTIVITY_LIMIT_EXCEEDED',
      '403 05': 'ACCOUNT_BLOCKED',
      '403 06': 'CUT_OFF',
      '403 07': 'ACCOUNT_BLOCKED',
      '403 09': 'ACCOUNT_DORMANT',
      '403 14': 'INSUFFICIENT_FUNDS',
      '403 16': 'ACCOUNT_BLOCKED',
      '403 18': 'ACCOUNT_INACTIVE',
      '403 20': 'AMOUNT_LIMIT_EXCEEDED',
      '403 23': 'AMOUNT_LIMIT_EXCEEDED',
      '404 03': 'BANK_NOT_SUPPORTED',
      '404 04': 'CANCELLED',
      '404 09': 'BANK_NOT_SUPPORTED',
      '404 11': 'ACCOUNT_NOT_FOUND',
      '429 00': 'ACTIVITY_LIMIT_EXCEEDED',
      '500 00': 'BANK_UNAVAILABLE',
      '500 01': 'BANK_UNAVAILABLE',
      '500 02': 'BANK_UNAVAILABLE',
      '504 00': 'BANK_UNAVAILABLE',
    };
    for (const [http, cases] of Object.entries(SNAP_CASES)) {
      for (const each of cases) {
        if (PERHAPS_EXECUTED.includes(`${http} ${each}`)) continue;
        const previousResponseCode = `${http}18${each}`;
        assert.deepEqual(await outcomeOf(answerStatus('06', { previousResponseCode })), {
          kind: 'status',
          status: 'FAILED',
          failureReason: FAILURE_REASONS[`${http} ${each}`] ?? 'REJECTED_BY_BANK',
          railCode: `2003600 06 ${previousResponseCode}`,
        });
      }
    }
  });

  it('06 with a malformed code is REJECTED_BY_BANK, and the code is not in the rail code', async () => {
    const outcome = await outcomeOf(answerStatus('06', { previousResponseCode: 'account 1234567890 is closed' }));
    assert.deepEqual(outcome, {
      kind: 'status',
      status: 'FAILED',
      failureReason: 'REJECTED_BY_BANK',
      railCode: '2003600 06',
    });
  });
});

describe('the response code of the inquiry', () => {
  for (const [http, cases] of Object.entries(SNAP_CASES)) {
    for (const each of cases) {
      const meaning = `${http} ${each}`;
      if (meaning === '200 00' || http === '401') continue;
      const expected = meaning === '404 01' ? 'unknown_transfer' : 'none';
      it(`${meaning} is ${expected}, whatever status comes with it`, async () => {
        for (const status of [undefined, '00', '06']) {
          const body = { latestTransactionStatus: status, responseCode: `${http}36${each}`, responseMessage: 'x' };
          const outcome = await outcomeOf((_request, response) => answer(response, Number(http), body));
          assert.equal(effectOf(outcome).split(':', 1)[0], expected);
        }
      });
    }
  }
});

// Regression: the bank counted as failing, and was asked less about all other transfers too.
describe('a response code about the one transfer', () => {
  for (const meaning of ['403 00', '404 00', '404 13', '404 18']) {
    it(`${meaning} does not slow down the inquiries about others`, async () => {
      const responseCode = meaning.replace(' ', '36');
      const status = Number(responseCode.slice(0, 3));
      const outcome = await outcomeOf((_request, response) => answer(response, status, { responseCode }));
      assert.equal(effectOf(outcome), 'none: rejected_by_bank');
    });
  }

  it('403 06, a cut-off, is an outage of the bank', async () => {
    const outcome = await outcomeOf((_request, response) => answer(response, 403, { responseCode: '4033606' }));
    assert.equal(effectOf(outcome), 'none: bank_unavailable');
  });
});

const changed = (changes: Record<string, unknown>, status = '06', http = 200): BankAnswer => {
  return (request, response) => answer(response, http, { ...statusReplyOf(request, status), ...changes });
};
const rewritten = (rewrite: (valid: string) => string): BankAnswer => {
  return (request, response) => answer(response, 200, rewrite(JSON.stringify(statusReplyOf(request, '06'))));
};

describe('an invalid reply about a transfer is not believed', () => {
  const INVALID_REPLIES: Readonly<Record<string, BankAnswer>> = {
    'another reference': changed({ originalPartnerReferenceNo: 'TRANSFER-2' }),
    'the reference in small letters': changed({ originalPartnerReferenceNo: 'transfer-1' }),
    'the reference in an array': changed({ originalPartnerReferenceNo: ['TRANSFER-1'] }),
    'another partner reference next to the right bank reference': changed({
      originalPartnerReferenceNo: 'TRANSFER-2',
      originalReferenceNo: 'TRANSFER-1',
    }),
    'only a bank reference that is not the one of the inquiry': changed({ originalPartnerReferenceNo: undefined }),
    'no reference at all': changed({ originalPartnerReferenceNo: undefined, originalReferenceNo: undefined }),
    'an empty reference': changed({ originalPartnerReferenceNo: '', originalReferenceNo: '' }),
    'an empty service': changed({ serviceCode: '' }),
    'an empty amount with a currency': changed({ amount: { value: '', currency: 'IDR' } }),
    'another service': changed({ serviceCode: '17' }),
    'no service': changed({ serviceCode: undefined }),
    'another amount': changed({ amount: { value: '150000.01', currency: 'IDR' } }),
    'another currency': changed({ amount: { value: '150000.00', currency: 'USD' } }),
    'an amount without a currency': changed({ amount: { value: '150000.00' } }),
    'an amount that is NaN': rewritten((valid) => valid.replace('"150000.00"', 'NaN')),
    'an amount with an exponent': rewritten((valid) => valid.replace('"150000.00"', '15e4')),
    'an amount that is no object': changed({ amount: '150000.00' }),
    'an amount in an array': changed({ amount: [{ value: '150000.00', currency: 'IDR' }] }),
    'two amounts': rewritten((valid) => valid.replace('"amount":', '"amount":{"value":"1.00","currency":"IDR"},$&')),
    'two values in the amount': rewritten((valid) => valid.replace('"value":', '"value":"1.00",$&')),
    'another currency next to the amount': changed({ currency: 'USD' }),
    "another account's number": changed({ beneficiaryAccountNo: '9876543210' }),
    'a refund in an object': changed({ previousResponseCode: {} }),
    'two statuses': rewritten((valid) => valid.replace('{', '{"latestTransactionStatus":"00",')),
    'two references': rewritten((valid) => valid.replace('{', '{"originalPartnerReferenceNo":"TRANSFER-2",')),
    'HTML with 200': (_request, response) => answer(response, 200, '<html><body>06</body></html>'),
    'an empty body': (_request, response) => answer(response, 200, ''),
    'a JSON array': rewritten((valid) => `[${valid}]`),
    'truncated JSON': rewritten((valid) => valid.slice(0, -1)),
    'the code of another service': changed({ responseCode: '2001800' }),
    'no response code': changed({ responseCode: undefined }),
    'a success with HTTP 404': changed({}, '06', 404),
    'a success with HTTP 500': changed({}, '06', 500),
    'a failed transfer with HTTP 202': changed({}, '06', 202),
    'not found, of another transfer': changed(
      { responseCode: '4043601', originalPartnerReferenceNo: 'TRANSFER-2' },
      '',
      404,
    ),
    'not found, of another service': changed({ responseCode: '4041801' }, '', 404),
    'not found with HTTP 200': changed({ responseCode: '4043601' }, ''),
    'more than 64 KiB': changed({ additionalInfo: { padding: 'x'.repeat(64 * 1024) } }),
    'a connection closed without a reply': (_request, response) => response.destroy(),
  };
  for (const [name, reply] of Object.entries(INVALID_REPLIES)) {
    it(name, async () => assert.equal((await outcomeOf(reply)).kind, 'no_status'));
  }

  const VALID_REPLIES: Readonly<Record<string, BankAnswer>> = {
    'only a bank reference that is the one of the inquiry': changed({
      originalPartnerReferenceNo: undefined,
      originalReferenceNo: 'TRANSFER-1',
    }),
    'no amount': changed({ amount: undefined }),
    'null for an amount': changed({ amount: null }),
    'the amount as a number': rewritten((valid) => valid.replace('"150000.00"', '150000.00')),
    'empty texts': changed({
      originalExternalId: '',
      amount: { value: '', currency: '' },
      currency: '',
      beneficiaryAccountNo: '',
    }),
    'the account of the inquiry': changed({ beneficiaryAccountNo: '1234567890', currency: 'IDR' }),
  };
  for (const [name, reply] of Object.entries(VALID_REPLIES)) {
    it(`a reply with ${name} is believed`, async () => assert.equal(effectOf(await outcomeOf(reply)), 'FAILED'));
  }
});
