import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { startBank } from '../../apps/bank/src/server.ts';
import type { StatusInquiryOutcome } from '../../apps/server/src/rails/rail.ts';
import { partnerSettings } from '../bank/partner.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import {
  fieldsOf,
  type HubReply,
  openBiFastRail,
  PARTICIPANT,
  type ReportFields,
  reportOn,
  startScriptedHub,
} from './bi-fast-hub.ts';
import { inquireStatus, transferTo } from './connection.ts';

const REFERENCE = '20230324GNESIDJA010O0100000007';
const TRANSFER = 'pacs.008.001.08';
const REQUEST = 'pacs.028.001.04';
const transfer = transferTo('BRI', { reference: REFERENCE });

async function outcomeOf(context: TestContext, answer: HubReply): Promise<StatusInquiryOutcome> {
  const hub = await startScriptedHub(context, answer);
  return inquireStatus(hub.rail(), transfer);
}

/** A valid report on the payment of the inquiry, as the hub stored it. */
const reporting =
  (fields: ReportFields): HubReply =>
  (request) => ({ body: reportOn(request, { group: { OrgnlMsgId: 'kept', OrgnlMsgNmId: TRANSFER }, ...fields }) });

/** The effect of an outcome: the status, `unknown`, or the reason why there is no status. */
function effectOf(outcome: StatusInquiryOutcome): string {
  if (outcome.kind === 'status') return [outcome.status, outcome.failureReason].join(' ').trim();
  return outcome.kind === 'no_status' ? outcome.reason : 'unknown';
}

describe('the status of a payment', () => {
  const EFFECTS: Readonly<Record<string, string>> = {
    ACSC: 'SUCCESS',
    ACCC: 'SUCCESS',
    ACTC: 'PROCESS',
    ACCP: 'PROCESS',
    ACSP: 'PROCESS',
    ACWC: 'PROCESS',
    ACWP: 'PROCESS',
    ACPD: 'PROCESS',
    ACFC: 'PROCESS',
    ACFW: 'PROCESS',
    RCVD: 'PROCESS',
    PDNG: 'PROCESS',
    PATC: 'PROCESS',
    BLCK: 'PROCESS',
    CANC: 'FAILED CANCELLED',
    OTHR: 'invalid_response',
    RCVC: 'invalid_response',
    acsc: 'invalid_response',
    '': 'invalid_response',
  };
  for (const [TxSts, effect] of Object.entries(EFFECTS)) {
    it(`${TxSts || 'that is missing'} is ${effect}`, async (context) => {
      assert.equal(effectOf(await outcomeOf(context, reporting({ TxSts, reason: 'U000' }))), effect);
      assert.equal(effectOf(await outcomeOf(context, reporting({ TxSts }))), effect);
    });
  }

  it('is not cancelled by a report on the status request', async (context) => {
    for (const reason of ['U000', undefined]) {
      const fields = { TxSts: 'CANC', reason, group: { OrgnlMsgNmId: REQUEST } };
      assert.equal(effectOf(await outcomeOf(context, reporting(fields))), 'invalid_response');
    }
  });

  it('is a success only when no reason contradicts it', async (context) => {
    for (const reason of ['U000', 'U002', undefined]) {
      assert.equal(effectOf(await outcomeOf(context, reporting({ TxSts: 'ACSC', reason }))), 'SUCCESS');
    }
    for (const reason of ['U101', 'U107', 'U900', 'AC04']) {
      assert.equal(effectOf(await outcomeOf(context, reporting({ TxSts: 'ACSC', reason }))), 'invalid_response');
    }
  });
});

/** The effect of a rejection of the payment, of one whose subject is not given, and of one of the status request. */
const REJECTIONS: Readonly<Record<string, readonly [ofPayment: string, unspecified: string, ofRequest: string]>> = {
  // Regression: without a subject they ended the transfer, although the tenant may be the sender of the request.
  U101: ['FAILED ACCOUNT_NOT_FOUND', 'invalid_response', 'invalid_response'],
  U102: ['FAILED ACCOUNT_INACTIVE', 'invalid_response', 'invalid_response'],
  U106: ['unknown', 'unknown', 'unknown'],
  U107: ['FAILED REJECTED_BY_BANK', 'FAILED REJECTED_BY_BANK', 'invalid_response'],
  U108: ['PROCESS', 'PROCESS', 'PROCESS'],
  U110: ['FAILED REJECTED_BY_BANK', 'FAILED REJECTED_BY_BANK', 'rejected_by_bank'],
  U111: ['FAILED REJECTED_BY_BANK', 'FAILED REJECTED_BY_BANK', 'credentials_rejected'],
  U112: ['FAILED AMOUNT_LIMIT_EXCEEDED', 'FAILED AMOUNT_LIMIT_EXCEEDED', 'credentials_rejected'],
  U124: ['FAILED BANK_NOT_SUPPORTED', 'credentials_rejected', 'credentials_rejected'],
  U128: ['FAILED REJECTED_BY_BANK', 'credentials_rejected', 'credentials_rejected'],
  U129: ['FAILED BANK_UNAVAILABLE', 'bank_unavailable', 'bank_unavailable'],
  U149: ['credentials_rejected', 'credentials_rejected', 'credentials_rejected'],
  U155: ['FAILED SUSPECTED_FRAUD', 'FAILED SUSPECTED_FRAUD', 'rejected_by_bank'],
  U156: ['FAILED REJECTED_BY_BANK', 'FAILED REJECTED_BY_BANK', 'rejected_by_bank'],
  U157: ['FAILED REJECTED_BY_BANK', 'FAILED REJECTED_BY_BANK', 'rejected_by_bank'],
  U170: ['bank_unavailable', 'bank_unavailable', 'bank_unavailable'],
  U173: ['bank_unavailable', 'bank_unavailable', 'bank_unavailable'],
  U804: ['FAILED ACCOUNT_NOT_FOUND', 'FAILED ACCOUNT_NOT_FOUND', 'invalid_response'],
  U805: ['FAILED ACCOUNT_BLOCKED', 'FAILED ACCOUNT_BLOCKED', 'invalid_response'],
  U900: ['timeout', 'timeout', 'timeout'],
  U901: ['bank_unavailable', 'bank_unavailable', 'bank_unavailable'],
  U993: ['bank_unavailable', 'bank_unavailable', 'bank_unavailable'],
  U999: ['credentials_rejected', 'credentials_rejected', 'credentials_rejected'],
  U000: ['invalid_response', 'invalid_response', 'invalid_response'],
  U777: ['FAILED REJECTED_BY_BANK', 'invalid_response', 'invalid_response'],
  AC04: ['FAILED REJECTED_BY_BANK', 'invalid_response', 'invalid_response'],
  '': ['FAILED REJECTED_BY_BANK', 'invalid_response', 'invalid_response'],
};

describe('a rejection', () => {
  for (const [code, [ofPayment, unspecified, ofRequest]] of Object.entries(REJECTIONS)) {
    const fields = { TxSts: 'RJCT', reason: code || undefined };
    it(`with ${code || 'no code'} is ${ofPayment}, ${unspecified} without a subject, ${ofRequest} for the request`, async (context) => {
      assert.equal(effectOf(await outcomeOf(context, reporting(fields))), ofPayment);
      const noSubject = { OrgnlMsgId: undefined, OrgnlMsgNmId: undefined };
      assert.equal(effectOf(await outcomeOf(context, reporting({ ...fields, group: noSubject }))), unspecified);
      const onRequest = { OrgnlMsgNmId: REQUEST };
      assert.equal(effectOf(await outcomeOf(context, reporting({ ...fields, group: onRequest }))), ofRequest);
    });
  }

  it('has its code as the rail code', async (context) => {
    const outcome = await outcomeOf(context, reporting({ TxSts: 'RJCT', reason: 'U102' }));
    assert.deepEqual(outcome, {
      kind: 'status',
      status: 'FAILED',
      failureReason: 'ACCOUNT_INACTIVE',
      railCode: 'RJCT U102',
    });
  });

  it('of an unknown payment may have a status that does not exist, as a mock of the hub sends it', async (context) => {
    const outcome = await outcomeOf(context, reporting({ TxSts: 'OTHR', reason: 'U106' }));
    assert.deepEqual(outcome, { kind: 'unknown_transfer', railCode: 'OTHR U106' });
  });
});

describe('an invalid report on a payment is not believed', () => {
  const reference = (original: object): ReportFields => ({
    TxSts: 'RJCT',
    reason: 'U101',
    transaction: { OrgnlTxRef: original },
  });
  const amount = (given: object): ReportFields => reference({ IntrBkSttlmAmt: given });
  const INVALID_REPORTS: Readonly<Record<string, ReportFields>> = {
    'another EndToEndId': {
      TxSts: 'ACSC',
      transaction: { OrgnlEndToEndId: '20230324GNESIDJA010O0100000008' },
    },
    'the EndToEndId in small letters': { TxSts: 'ACSC', transaction: { OrgnlEndToEndId: REFERENCE.toLowerCase() } },
    'the EndToEndId in an array': { TxSts: 'ACSC', transaction: { OrgnlEndToEndId: [REFERENCE] } },
    'no EndToEndId': { TxSts: 'ACSC', transaction: { OrgnlEndToEndId: undefined } },
    'not found, of another payment': { TxSts: 'RJCT', reason: 'U106', transaction: { OrgnlEndToEndId: 'another' } },
    'another account': reference({ CdtrAcct: { Id: { Othr: { Id: '9876543210' } } } }),
    'another amount': amount({ value: '150000.01', Ccy: 'IDR' }),
    'another amount in the other spelling': amount({ Value: '150000.01', Ccy: 'IDR' }),
    'another currency': amount({ value: '150000.00', Ccy: 'USD' }),
    'an amount without a currency': amount({ value: '150000.00' }),
    'two spellings of the amount': amount({ value: '150000.00', Value: '150000.00', Ccy: 'IDR' }),
    'an amount that is no number': amount({ value: { n: 1 }, Ccy: 'IDR' }),
    'a status in an array': { TxSts: 'ACSC', transaction: { TxSts: ['RJCT'] } },
    'a reason in an array': { TxSts: 'RJCT', transaction: { StsRsnInf: [{ Rsn: { Prtry: ['U101'] } }] } },
    'a report to another participant': {
      TxSts: 'ACSC',
      header: { To: { FIId: { FinInstnId: { Othr: { Id: 'BMRIIDJA' } } } } },
    },
  };
  for (const [name, fields] of Object.entries(INVALID_REPORTS)) {
    it(name, async (context) =>
      assert.equal(effectOf(await outcomeOf(context, reporting(fields))), 'invalid_response'),
    );
  }

  const VALID_REPORTS: Readonly<Record<string, ReportFields>> = {
    'the account of the inquiry': reference({ CdtrAcct: { Id: { Othr: { Id: '1234567890' } } } }),
    'the amount': amount({ value: '150000.00', Ccy: 'IDR' }),
    'the amount in the other spelling, as a number': amount({ Value: 150000, Ccy: 'IDR' }),
  };
  for (const [name, fields] of Object.entries(VALID_REPORTS)) {
    it(`a report with ${name} is believed`, async (context) => {
      assert.equal(effectOf(await outcomeOf(context, reporting(fields))), 'FAILED ACCOUNT_NOT_FOUND');
    });
  }

  it('a duplicate member, or another HTTP status', async (context) => {
    const valid: HubReply = reporting({ TxSts: 'ACSC', reason: 'U000' });
    const twice: HubReply = (request) => ({
      body: JSON.stringify(valid(request).body).replace('"TxSts":', '"TxSts":"RJCT","TxSts":'),
    });
    assert.equal(effectOf(await outcomeOf(context, twice)), 'invalid_response');
    for (const [status, reason] of [
      [500, 'bank_unavailable'],
      [202, 'bank_unavailable'],
      [404, 'credentials_rejected'],
      [201, 'invalid_response'],
    ] as const) {
      const answer: HubReply = (request) => ({ ...valid(request), status });
      assert.equal(effectOf(await outcomeOf(context, answer)), reason);
    }
  });
});

it('the request contains the id of the payment and nothing else about it', async (context) => {
  const hub = await startScriptedHub(context, reporting({ TxSts: 'ACSC', reason: 'U000' }));
  await inquireStatus(hub.rail(), transfer);
  const [request] = hub.requests;
  assert.ok(request !== undefined);
  assert.equal(fieldsOf(request).endToEndId, REFERENCE);
  assert.equal(fieldsOf(request).messageName, REQUEST);
  assert.doesNotMatch(request.body, /1234567890|150000/);
});

describe('a status inquiry to the simulated hub', () => {
  /** By the last four digits of the EndToEndId (docs/simulated-bank.md). */
  const ENDINGS: Readonly<Record<string, string>> = {
    '0007': 'SUCCESS',
    '1005': 'SUCCESS',
    '1001': 'PROCESS',
    '1002': 'PROCESS',
    '1003': 'PROCESS',
    '1004': 'FAILED CANCELLED',
    '0101': 'FAILED ACCOUNT_NOT_FOUND',
    '0102': 'FAILED ACCOUNT_INACTIVE',
    '0106': 'unknown',
    '0107': 'FAILED REJECTED_BY_BANK',
    '0108': 'PROCESS',
    '0110': 'FAILED REJECTED_BY_BANK',
    '0112': 'FAILED AMOUNT_LIMIT_EXCEEDED',
    '0129': 'FAILED BANK_UNAVAILABLE',
    '0155': 'FAILED SUSPECTED_FRAUD',
    '0173': 'bank_unavailable',
    '0429': 'throttled',
    '0500': 'invalid_response',
    '0805': 'FAILED ACCOUNT_BLOCKED',
    '0900': 'timeout',
    '0901': 'bank_unavailable',
  };

  it('has the outcome that the last four digits of the EndToEndId stand for', async (context) => {
    const settings = partnerSettings(rsaKeys());
    const bank = await startBank({ ...settings, profile: 'bi-fast', partnerId: PARTICIPANT });
    context.after(() => bank.close());
    const rail = openBiFastRail(`${bank.baseUrl}/bi-fast`);
    context.after(() => rail.close());
    for (const [ending, effect] of Object.entries(ENDINGS)) {
      const reference = `20230324GNESIDJA010O010000${ending}`;
      assert.equal(effectOf(await inquireStatus(rail, { ...transfer, reference })), effect, ending);
    }
    const silent = { ...transfer, reference: '20230324GNESIDJA010O0100000504' };
    const outcome = await rail.inquireStatus?.(silent, AbortSignal.timeout(300));
    assert.deepEqual(outcome, { kind: 'no_status', reason: 'timeout', railCode: null });
    const malformed = await inquireStatus(rail, { ...transfer, reference: 'PAY-1' });
    assert.deepEqual(malformed, { kind: 'no_status', reason: 'rejected_by_bank', railCode: 'admi.002' });
  });
});
