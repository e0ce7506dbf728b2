import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import { accountEnquiry } from '../../apps/server/src/rails/bi-fast/account-inquiry.ts';
import { writeMessage } from '../../apps/server/src/rails/bi-fast/message.ts';
import { paymentStatusRequest } from '../../apps/server/src/rails/bi-fast/transfer-status.ts';
import type { InquiryOutcome } from '../../apps/server/src/rails/rail.ts';
import { readRailsFile } from '../../apps/server/src/rails/rails-file.ts';
import { activeReport, HOLDER, type HubReply, type HubRequest, REJECTION, startScriptedHub } from './bi-fast-hub.ts';
import { inquireAccount } from './connection.ts';

const ACCOUNT = '666111222';
const active: HubReply = (request) => ({ body: activeReport(request) });

/** The outcome of an enquiry when the hub sends this reply. */
async function outcomeOf(context: TestContext, reply: HubReply): Promise<InquiryOutcome> {
  const hub = await startScriptedHub(context, reply);
  return inquireAccount(hub.rail(), 'BRI', ACCOUNT);
}

const labelOf = (outcome: InquiryOutcome): string =>
  outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;

const page = await readFile(new URL('../../docs/bi-fast.md', import.meta.url), 'utf8');

describe('a connection in the rails file', () => {
  const [, example = ''] = /```json\n([^]*?)```/.exec(page) ?? [];

  async function faultsOf(context: TestContext, changes: object): Promise<readonly string[]> {
    const directory = await mkdtemp(path.join(tmpdir(), 'tiba-bi-fast-'));
    context.after(() => rm(directory, { recursive: true, force: true }));
    const file = path.join(directory, 'rails.json');
    const [entry] = JSON.parse(example).rails;
    await writeFile(file, JSON.stringify({ rails: [{ ...entry, ...changes }] }));
    const read = readRailsFile(file, createBankDirectory(bankEntries));
    return 'faults' in read ? read.faults : [];
  }

  it('is valid as documented, and nearly every field is optional', async (context) => {
    assert.deepEqual(await faultsOf(context, {}), []);
    const optional = [
      'channel',
      'purpose',
      'enquiry_amount',
      'amount_member',
      'account_enquiry_path',
      'payment_status_path',
    ];
    assert.deepEqual(await faultsOf(context, Object.fromEntries(optional.map((name) => [name, undefined]))), []);
  });

  it('is invalid with a setting that the hub would reject', async (context) => {
    const INVALID = {
      bic: 'GNESIDJX',
      channel: '04',
      purpose: '51001',
      enquiry_amount: '1234.5',
      amount_member: 'VALUE',
      account_enquiry_path: 'enquiry',
      payment_status_path: '/status?x=1',
      password: 'x',
    };
    for (const [name, value] of Object.entries(INVALID)) {
      assert.equal((await faultsOf(context, { [name]: value })).length > 0, true, name);
    }
    assert.ok((await faultsOf(context, { bic: undefined })).length > 0);
  });
});

describe('a message to the hub', () => {
  const at = { atMs: Date.parse('2023-03-24T09:21:55Z'), serial: '31081005' };
  const participant = { bic: 'GNESIDJA', channel: '01' } as const;
  const enquiry = { bic: 'GNESIDJA', purpose: '01', enquiryAmount: '1234.56', amountMember: 'value' } as const;

  it('is an account enquiry as published, with the local time of Jakarta', () => {
    const request = accountEnquiry('/', enquiry, { bic: 'ARTGIDJA', accountNumber: '666111' });
    assert.deepEqual(JSON.parse(writeMessage(request, participant, at).body), {
      BusMsg: {
        AppHdr: {
          Fr: { FIId: { FinInstnId: { Othr: { Id: 'GNESIDJA' } } } },
          To: { FIId: { FinInstnId: { Othr: { Id: 'FASTIDJA' } } } },
          BizMsgIdr: '20230324GNESIDJA510O0131081005',
          MsgDefIdr: 'pacs.008.001.08',
          CreDt: '2023-03-24T09:21:55Z',
        },
        Document: {
          FIToFICstmrCdtTrf: {
            GrpHdr: {
              MsgId: '20230324GNESIDJA51031081005',
              CreDtTm: '2023-03-24T16:21:55',
              NbOfTxs: '1',
              SttlmInf: { SttlmMtd: 'CLRG' },
            },
            CdtTrfTxInf: [
              {
                PmtId: { EndToEndId: '20230324GNESIDJA510O0131081005', TxId: '20230324GNESIDJA51031081005' },
                PmtTpInf: { CtgyPurp: { Prtry: '51001' } },
                IntrBkSttlmAmt: { value: '1234.56', Ccy: 'IDR' },
                ChrgBr: 'DEBT',
                Dbtr: {},
                DbtrAgt: { FinInstnId: { Othr: { Id: 'GNESIDJA' } } },
                CdtrAgt: { FinInstnId: { Othr: { Id: 'ARTGIDJA' } } },
                Cdtr: {},
                CdtrAcct: { Id: { Othr: { Id: '666111' } } },
              },
            ],
          },
        },
      },
    });
  });

  it('has the other spelling of the amount where the settings say so', () => {
    const sent = { bic: 'ARTGIDJA', accountNumber: '666111' };
    const request = accountEnquiry('/', { ...enquiry, amountMember: 'Value' }, sent);
    const message = writeMessage(request, participant, at);
    assert.match(message.body, /"IntrBkSttlmAmt":\{"Value":"1234\.56","Ccy":"IDR"\}/);
  });

  it('is a payment status request as published', () => {
    const reference = '20230324GNESIDJA010O0100000007';
    const sent = { reference, amount: '1.00', currency: 'IDR', accountNumber: '666111' };
    const { BusMsg } = JSON.parse(writeMessage(paymentStatusRequest('/', sent), participant, at).body);
    assert.equal(BusMsg.AppHdr.MsgDefIdr, 'pacs.028.001.04');
    assert.equal(BusMsg.AppHdr.BizMsgIdr, '20230324GNESIDJA000O0131081005');
    assert.deepEqual(BusMsg.Document, {
      FIToFIPmtStsReq: {
        GrpHdr: { MsgId: '20230324GNESIDJA00031081005', CreDtTm: '2023-03-24T16:21:55' },
        TxInf: [{ OrgnlEndToEndId: reference }],
      },
    });
  });

  it("has the hub's day, which begins seven hours before that of UTC", () => {
    const request = accountEnquiry('/', enquiry, { bic: 'ARTGIDJA', accountNumber: '666111' });
    const dayOf = (time: string): string =>
      writeMessage(request, participant, { ...at, atMs: Date.parse(time) }).head.endToEndId.slice(0, 8);
    assert.equal(dayOf('2023-12-31T16:59:59Z'), '20231231');
    assert.equal(dayOf('2023-12-31T17:00:00Z'), '20240101');
  });

  it('is sent as JSON to the base address, or to a path below it', async (context) => {
    const hub = await startScriptedHub(context, active);
    const paths = { accountEnquiryPath: '/enquiry', paymentStatusPath: '/status' };
    await inquireAccount(hub.rail(), 'BRI', ACCOUNT);
    await inquireAccount(hub.rail({ baseUrl: `${hub.baseUrl}/cihub` }), 'BRI', ACCOUNT);
    await inquireAccount(hub.rail({ baseUrl: `${hub.baseUrl}/cihub`, ...paths }), 'BRI', ACCOUNT);
    assert.deepEqual(
      hub.requests.map(({ path }) => path),
      ['/', '/cihub', '/cihub/enquiry'],
    );
    assert.ok(hub.requests.every(({ contentType }) => contentType === 'application/json'));
  });
});

/** The outcome of a rejection with each code. */
const REJECTIONS: Readonly<Record<string, string>> = {
  U101: 'NOT_FOUND',
  U102: 'INACTIVE',
  U106: 'invalid_response',
  U107: 'invalid_response',
  U108: 'invalid_response',
  U110: 'rejected_by_bank',
  U111: 'credentials_rejected',
  U112: 'credentials_rejected',
  U124: 'credentials_rejected',
  U128: 'credentials_rejected',
  U129: 'bank_unavailable',
  U149: 'credentials_rejected',
  U155: 'rejected_by_bank',
  U156: 'rejected_by_bank',
  U157: 'rejected_by_bank',
  U170: 'bank_unavailable',
  U171: 'bank_unavailable',
  U172: 'bank_unavailable',
  U173: 'bank_unavailable',
  U804: 'invalid_response',
  U805: 'invalid_response',
  U900: 'timeout',
  U901: 'bank_unavailable',
  U902: 'bank_unavailable',
  U904: 'bank_unavailable',
  U990: 'bank_unavailable',
  U992: 'bank_unavailable',
  U993: 'bank_unavailable',
  U999: 'credentials_rejected',
  U000: 'invalid_response',
  U002: 'invalid_response',
  U103: 'invalid_response',
  AC01: 'invalid_response',
};

describe('a reason code', () => {
  for (const [reason, expected] of Object.entries(REJECTIONS)) {
    it(`${reason} in a rejection is ${expected}`, async (context) => {
      const outcome = await outcomeOf(context, (request) => ({
        body: activeReport(request, { TxSts: 'RJCT', reason, transaction: { OrgnlTxRef: undefined } }),
      }));
      assert.equal(labelOf(outcome), expected);
      assert.equal(outcome.railCode, `RJCT ${reason}`);
    });
  }

  it('is in the documentation, with its outcome', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| U'));
    for (const [reason, expected] of Object.entries(REJECTIONS)) {
      const row = rows.find((line) => line.split('|')[1]?.includes(reason));
      if (row === undefined) assert.equal(expected, 'invalid_response', reason);
      else assert.ok(row.includes(row.includes('ACTIVE |') ? 'ACTIVE' : expected), `${reason}: ${row}`);
    }
  });

  it('that accepts, from the bank or from a stand-in for it, makes an account ACTIVE', async (context) => {
    for (const reason of ['U000', 'U002']) {
      const outcome = await outcomeOf(context, (request) => ({ body: activeReport(request, { reason }) }));
      assert.deepEqual(outcome, {
        kind: 'verdict',
        verdict: { status: 'ACTIVE', accountName: HOLDER },
        railCode: `ACTC ${reason}`,
      });
    }
  });

  it('that rejects is not believed with an accepting status', async (context) => {
    for (const reason of ['U101', 'U102', 'U110', undefined]) {
      const outcome = await outcomeOf(context, (request) => ({ body: activeReport(request, { reason }) }));
      assert.equal(labelOf(outcome), 'invalid_response');
    }
  });
});

describe('the status', () => {
  for (const TxSts of ['ACSC', 'ACCC', 'ACSP', 'ACCP', 'PDNG', 'RCVD', 'BLCK', 'CANC', 'XXXX', 'actc']) {
    it(`${TxSts} is no verdict on an account`, async (context) => {
      for (const reason of ['U000', 'U101']) {
        const outcome = await outcomeOf(context, (request) => ({ body: activeReport(request, { TxSts, reason }) }));
        assert.equal(labelOf(outcome), 'invalid_response');
      }
    });
  }

  it('429, 504, 503, 400 and 403 of HTTP give the reason for no verdict, whatever the body is', async (context) => {
    const reasons = {
      429: 'throttled',
      504: 'timeout',
      503: 'bank_unavailable',
      400: 'credentials_rejected',
      403: 'credentials_rejected',
      302: 'invalid_response',
    };
    for (const [status, reason] of Object.entries(reasons)) {
      const outcome = await outcomeOf(context, (request) => ({
        status: Number(status),
        body: activeReport(request, { TxSts: 'RJCT', reason: 'U101' }),
      }));
      assert.equal(labelOf(outcome), reason);
    }
  });

  it('of a message that the hub rejects as such (admi.002) is "rejected_by_bank"', async (context) => {
    const outcome = await outcomeOf(context, () => ({
      body: REJECTION,
    }));
    assert.deepEqual(outcome, { kind: 'no_verdict', reason: 'rejected_by_bank', railCode: 'admi.002' });
  });
});

const changed = (changes: Parameters<typeof activeReport>[1]): HubReply => {
  return (request) => ({ body: activeReport(request, changes) });
};
const rewritten = (rewrite: (valid: string, request: HubRequest) => string): HubReply => {
  return (request) => {
    const valid = JSON.stringify(activeReport(request));
    const body = rewrite(valid, request);
    assert.notEqual(body, valid, 'the rewriting changes something');
    return { body };
  };
};
const reportAbout = (reference: object): HubReply => changed({ transaction: { OrgnlTxRef: reference } });
const holder = { Cdtr: { Pty: { Nm: HOLDER } } };
const account = { CdtrAcct: { Id: { Othr: { Id: ACCOUNT } } } };
const another = { CdtrAcct: { Id: { Othr: { Id: '666111223' } } } };
const rejected = { TxSts: 'RJCT', reason: 'U101' };

describe('an invalid report on an account is not believed', () => {
  const INVALID_REPORTS: Readonly<Record<string, HubReply>> = {
    'another EndToEndId': changed({ transaction: { OrgnlEndToEndId: '20230324GNESIDJA510O0131081005' } }),
    'no EndToEndId': changed({ transaction: { OrgnlEndToEndId: undefined } }),
    'another TxId': changed({ transaction: { OrgnlTxId: '20230324GNESIDJA51031081005' } }),
    'another MsgId': changed({ group: { OrgnlMsgId: '20230324GNESIDJA51031081005' } }),
    'a rejection of another EndToEndId': changed({ ...rejected, transaction: { OrgnlEndToEndId: 'another' } }),
    'a rejection of another TxId': changed({ ...rejected, transaction: { OrgnlTxId: 'another' } }),
    'a rejection of another account': changed({ ...rejected, transaction: { OrgnlTxRef: another } }),
    "another account's number": reportAbout({ ...holder, ...another }),
    'the number with one more leading zero': reportAbout({
      ...holder,
      CdtrAcct: { Id: { Othr: { Id: `0${ACCOUNT}` } } },
    }),
    'the number as a number': reportAbout({ ...holder, CdtrAcct: { Id: { Othr: { Id: Number(ACCOUNT) } } } }),
    'no account': reportAbout(holder),
    'no name': reportAbout(account),
    'an empty name': reportAbout({ ...account, Cdtr: { Pty: { Nm: ' ' } } }),
    'a name in an array': reportAbout({ ...account, Cdtr: { Pty: { Nm: [HOLDER] } } }),
    'a name of 141 characters': reportAbout({ ...account, Cdtr: { Pty: { Nm: 'N'.repeat(141) } } }),
    'a control character in the name': reportAbout({ ...account, Cdtr: { Pty: { Nm: 'BUDI\u0000SANTOSO' } } }),
    'another bank': reportAbout({ ...holder, ...account, CdtrAgt: { FinInstnId: { Othr: { Id: 'BMRIIDJA' } } } }),
    'a report to another participant': changed({
      header: { To: { FIId: { FinInstnId: { Othr: { Id: 'BMRIIDJA' } } } } },
    }),
    'another message': changed({ header: { MsgDefIdr: 'pacs.008.001.08' } }),
    'another version of the message': changed({ header: { MsgDefIdr: 'pacs.002.001.12' } }),
    'two transactions': rewritten((valid) =>
      valid.replace(/"TxInfAndSts":\[(.*)\]\}\}\}\}$/, '"TxInfAndSts":[$1,$1]}}}}'),
    ),
    'no transaction': rewritten((valid) => valid.replace(/"TxInfAndSts":.*$/, '"TxInfAndSts":[]}}}}')),
    'two reasons': rewritten((valid) => valid.replace('"StsRsnInf":[', '"StsRsnInf":[{"Rsn":{"Prtry":"U101"}},')),
    'a reason of another list': rewritten((valid) => valid.replace('"Prtry":"U000"', '"Prtry":"U000","Cd":"AC04"')),
    'two statuses': rewritten((valid) => valid.replace('"TxSts":', '"TxSts":"RJCT","TxSts":')),
    'two names': rewritten((valid) => valid.replace('"Nm":', '"Nm":"SITI","Nm":')),
    'two names, one spelled with an escape': rewritten((valid) =>
      valid.replace('"Nm":', String.raw`"N\u006d":"SITI","Nm":`),
    ),
    'two accounts': rewritten((valid) =>
      valid.replace('"CdtrAcct":', '"CdtrAcct":{"Id":{"Othr":{"Id":"1"}}},"CdtrAcct":'),
    ),
    'two documents': rewritten((valid) => valid.replace('"Document":', '"Document":{},"Document":')),
    'half a surrogate pair in the name': rewritten((valid) => valid.replace('BUDI', String.raw`\ud800`)),
    'arrays in arrays, 30,000 deep': rewritten(() => '['.repeat(30_000)),
    'objects in objects, 8,000 deep': rewritten(() => `${'{"BusMsg":'.repeat(8_000)}1${'}'.repeat(8_000)}`),
    'the names of inherited members': rewritten(() => '{"__proto__":{"BusMsg":{}},"constructor":1}'),
    'an empty object': rewritten(() => '{}'),
    'an array': rewritten((valid) => `[${valid}]`),
    'a text': rewritten((valid) => JSON.stringify(valid)),
    null: rewritten(() => 'null'),
    'an empty body': rewritten(() => ''),
    'NaN for a number': rewritten((valid) => valid.replace('{', '{"n":NaN,')),
    'truncated JSON': rewritten((valid) => valid.slice(0, -1)),
  };
  for (const [name, reply] of Object.entries(INVALID_REPORTS)) {
    it(name, async (context) => assert.equal(labelOf(await outcomeOf(context, reply)), 'invalid_response'));
  }

  const VALID_REPORTS: Readonly<Record<string, HubReply>> = {
    'the bank of the enquiry': reportAbout({
      ...holder,
      ...account,
      CdtrAgt: { FinInstnId: { Othr: { Id: 'BRINIDJA' } } },
    }),
    'no TxId': changed({ transaction: { OrgnlTxId: undefined } }),
    'no reference to the message': rewritten((valid) => valid.replace(/"OrgnlGrpInfAndSts":\[[^\]]*\],/, '')),
    'unknown members': rewritten((valid) => valid.replace('{', '{"Sgntr":{"n":12345678901234567890},')),
  };
  for (const [name, reply] of Object.entries(VALID_REPORTS)) {
    it(`a report with ${name} is believed`, async (context) =>
      assert.equal(labelOf(await outcomeOf(context, reply)), 'ACTIVE'));
  }
});
