import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type RunningBank, startBank } from '../../apps/bank/src/server.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { createClock, partnerSettings } from './partner.ts';

// The messages are written by hand and sent over real HTTP: they share no code with the hub or the rail.

const PARTICIPANT = 'GNESIDJA';
const NOW = '2026-11-21T04:30:00Z';
const LOCAL_NOW = '2026-11-21T11:30:00';

type Json = { [name: string]: unknown };

interface HubResponse {
  readonly status: number;
  readonly text: string;
  /** The message type, from the header (MsgDefIdr). */
  readonly definition: string;
  /** TxSts and reason of a report, or the location of a fault. */
  readonly result: string;
}

const clock = createClock(NOW);
let bank: RunningBank;
let serials = 0;

before(async () => {
  const settings = partnerSettings(rsaKeys());
  bank = await startBank({ ...settings, profile: 'bi-fast', partnerId: PARTICIPANT }, clock.now);
});
after(() => bank?.close());

const institution = (id: string): Json => ({ FinInstnId: { Othr: { Id: id } } });

function header(id: string, definition: string): Json {
  return {
    Fr: { FIId: institution(PARTICIPANT) },
    To: { FIId: institution('FASTIDJA') },
    BizMsgIdr: id,
    MsgDefIdr: definition,
    CreDt: NOW,
  };
}

const nextSerial = (): string => {
  serials += 1;
  return String(serials).padStart(8, '0');
};

/** A valid account enquiry with new identifiers. */
function enquiry(account = '8260371234'): Json {
  const serial = nextSerial();
  const endToEndId = `20261121${PARTICIPANT}510O01${serial}`;
  const messageId = `20261121${PARTICIPANT}510${serial}`;
  return {
    BusMsg: {
      AppHdr: header(endToEndId, 'pacs.008.001.08'),
      Document: {
        FIToFICstmrCdtTrf: {
          GrpHdr: { MsgId: messageId, CreDtTm: LOCAL_NOW, NbOfTxs: '1', SttlmInf: { SttlmMtd: 'CLRG' } },
          CdtTrfTxInf: [
            {
              PmtId: { EndToEndId: endToEndId, TxId: messageId },
              PmtTpInf: { CtgyPurp: { Prtry: '51001' } },
              IntrBkSttlmAmt: { value: '1234.56', Ccy: 'IDR' },
              ChrgBr: 'DEBT',
              Dbtr: {},
              DbtrAgt: institution(PARTICIPANT),
              CdtrAgt: institution('BRINIDJA'),
              Cdtr: {},
              CdtrAcct: { Id: { Othr: { Id: account } } },
            },
          ],
        },
      },
    },
  };
}

/** A valid payment status request. */
function statusRequest(reference = '20261120GNESIDJA010O0100000007'): Json {
  const serial = nextSerial();
  return {
    BusMsg: {
      AppHdr: header(`20261121${PARTICIPANT}000O99${serial}`, 'pacs.028.001.04'),
      Document: {
        FIToFIPmtStsReq: {
          GrpHdr: { MsgId: `20261121${PARTICIPANT}000${serial}`, CreDtTm: LOCAL_NOW },
          TxInf: [{ OrgnlEndToEndId: reference }],
        },
      },
    },
  };
}

/** The same message with another value at a path; undefined removes the member. */
function withChange(message: Json, path: string, value: unknown): Json {
  const copy = structuredClone(message);
  const names = path.split('.');
  const last = names.pop() ?? '';
  const parent = names.reduce((at, name) => at[name] as Json, copy);
  assert.ok(last in parent, `${path} exists`);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return copy;
}

async function send(
  message: Json | string | Uint8Array<ArrayBuffer>,
  contentType = 'application/json',
): Promise<HubResponse> {
  const body =
    message instanceof Uint8Array ? message : typeof message === 'string' ? message : JSON.stringify(message);
  const response = await fetch(`${bank.baseUrl}/bi-fast`, {
    method: 'POST',
    headers: { 'Content-Type': contentType },
    body,
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  const answered = { status: response.status, text };
  if (!text.startsWith('{"BusMsg"')) return { ...answered, definition: '', result: '' };
  const { AppHdr, Document } = JSON.parse(text).BusMsg;
  const transaction = Document.FIToFIPmtStsRpt?.TxInfAndSts[0];
  const result =
    transaction === undefined
      ? Document.MessageReject.Rsn.ErrLctn
      : [transaction.TxSts, transaction.StsRsnInf?.[0].Rsn.Prtry].join(' ');
  return { ...answered, definition: AppHdr.MsgDefIdr, result };
}

describe('an account enquiry', () => {
  it('is answered by a pacs.002 with its identifiers, the account and the holder', async () => {
    const message = enquiry();
    const { status, text } = await send(message);
    const { AppHdr, Document } = JSON.parse(text).BusMsg;
    const id = `20261121${PARTICIPANT}510O01${String(serials).padStart(8, '0')}`;
    const messageId = id.replace('O01', '');
    assert.equal(status, 200);
    assert.deepEqual([AppHdr.Fr, AppHdr.To], [{ FIId: institution('FASTIDJA') }, { FIId: institution(PARTICIPANT) }]);
    assert.equal(AppHdr.MsgDefIdr, 'pacs.002.001.10');
    assert.match(AppHdr.BizMsgIdr, /^20261121FASTIDJA510H99\d{8}$/);
    const { OrgnlGrpInfAndSts, TxInfAndSts } = Document.FIToFIPmtStsRpt;
    assert.deepEqual(OrgnlGrpInfAndSts, [{ OrgnlMsgId: messageId, OrgnlMsgNmId: 'pacs.008.001.08' }]);
    const [{ OrgnlTxRef, ...transaction }, ...others] = TxInfAndSts;
    assert.deepEqual(others, []);
    assert.deepEqual(transaction, {
      OrgnlEndToEndId: id,
      OrgnlTxId: messageId,
      TxSts: 'ACTC',
      StsRsnInf: [{ Rsn: { Prtry: 'U000' } }],
    });
    assert.match(OrgnlTxRef.Cdtr.Pty.Nm, /^[A-Z]+ [A-Z]+$/);
    assert.deepEqual(OrgnlTxRef.CdtrAcct, { Id: { Othr: { Id: '8260371234' } }, Tp: { Prtry: 'SVGS' } });
  });

  it('is answered according to the last four digits of the account', async () => {
    const expected = { '0404': 'RJCT U101', '0410': 'RJCT U102', '0403': 'RJCT U110', '0503': 'RJCT U129' };
    for (const [ending, result] of Object.entries(expected))
      assert.equal((await send(enquiry(`826037${ending}`))).result, result);
    assert.equal((await send(enquiry('8260370429'))).status, 429);
    const malformed = await send(enquiry('8260370500'));
    assert.match(`${malformed.status} ${malformed.text}`, /^200 <!DOCTYPE html>/);
  });

  it('finds an account at BCA only if it has ten digits', async () => {
    const toBca = (account: string): Json =>
      withChange(enquiry(account), 'BusMsg.Document.FIToFICstmrCdtTrf.CdtTrfTxInf.0.CdtrAgt', institution('CENAIDJA'));
    assert.equal((await send(toBca('8888010001'))).result, 'ACTC U000');
    assert.equal((await send(toBca('888801000'))).result, 'RJCT U101');
  });
});

/** Each member that has a rule, with invalid values. A message is rejected without it, or with one of these values. */
type Members = Readonly<Record<string, readonly unknown[]>>;

const BIC = 'BusMsg.AppHdr.Fr.FIId.FinInstnId.Othr.Id';

const headerMembers = (type: string): Members => {
  const start = `20261121${PARTICIPANT}${type}`;
  return {
    [BIC]: ['GNESIDJ', 'gnesidja', 'GNESIDJA1', 12345678],
    'BusMsg.AppHdr.To.FIId.FinInstnId.Othr.Id': ['FASTIDJB', 'BRINIDJA', ''],
    'BusMsg.AppHdr.CreDt': [
      LOCAL_NOW,
      '2026-11-21T04:30:00+00:00',
      '2026-11-21 04:30:00Z',
      '2026-11-21T04:24:59Z',
      '2026-11-21T04:35:01Z',
      '',
    ],
    'BusMsg.AppHdr.BizMsgIdr': [
      `${start.replace('1121', '1120')}O0190000001`,
      `${start.replace(PARTICIPANT, 'BRINIDJA')}O0190000002`,
      `${start.slice(0, -3)}010O0190000003`,
      `${start}R0190000004`,
      `${start}H0190000005`,
      `${start}O0490000006`,
      `${start}O019000000`,
      `${start}O01900000071`,
      `${start}O01A0000008`,
      start,
    ],
  };
};

const groupMembers = (group: string, type: string): Members => {
  const start = `20261121${PARTICIPANT}${type}`;
  return {
    [`${group}.MsgId`]: [
      `${start.replace('1121', '1122')}90000011`,
      `${start.replace(PARTICIPANT, 'BRINIDJA')}90000012`,
      `${start.slice(0, -3)}01090000013`,
      `${start}9000014`,
      `${start}900000150`,
      `${start}9000O016`,
    ],
    [`${group}.CreDtTm`]: [NOW, '2026-11-21T04:30:00', '2026-11-21T11:24:59', '2026-11-21T11:35:01', ''],
  };
};

const TRANSFER = 'BusMsg.Document.FIToFICstmrCdtTrf';
const TRANSACTION = `${TRANSFER}.CdtTrfTxInf.0`;
const ENQUIRY_MEMBERS: Members = {
  ...headerMembers('510'),
  ...groupMembers(`${TRANSFER}.GrpHdr`, '510'),
  [`${TRANSFER}.GrpHdr.NbOfTxs`]: ['2', '0', 1],
  [`${TRANSFER}.GrpHdr.SttlmInf.SttlmMtd`]: ['INDA', 'clrg'],
  [`${TRANSFER}.CdtTrfTxInf`]: [[], {}],
  [`${TRANSACTION}.PmtId.EndToEndId`]: [`20261121${PARTICIPANT}510O0190000021`],
  [`${TRANSACTION}.PmtId.TxId`]: [`20261121${PARTICIPANT}51090000022`],
  [`${TRANSACTION}.PmtTpInf.CtgyPurp.Prtry`]: ['01001', '51004', '510', '01'],
  [`${TRANSACTION}.IntrBkSttlmAmt.value`]: ['1234.5', '1234', '01.00', '-1.00', '1,00', 1234.56],
  [`${TRANSACTION}.IntrBkSttlmAmt.Ccy`]: ['USD', 'idr'],
  [`${TRANSACTION}.ChrgBr`]: ['CRED', 'SHAR'],
  [`${TRANSACTION}.Dbtr`]: ['', []],
  [`${TRANSACTION}.DbtrAgt.FinInstnId.Othr.Id`]: ['BRINIDJA'],
  [`${TRANSACTION}.CdtrAgt.FinInstnId.Othr.Id`]: ['002', 'brinidja', 'BRINIDJAXXX'],
  [`${TRANSACTION}.Cdtr`]: ['', []],
  [`${TRANSACTION}.CdtrAcct.Id.Othr.Id`]: ['', '82603A1234', '1'.repeat(35), 8260371234],
};

const REQUEST = 'BusMsg.Document.FIToFIPmtStsReq';
const REQUEST_MEMBERS: Members = {
  ...headerMembers('000'),
  ...groupMembers(`${REQUEST}.GrpHdr`, '000'),
  [`${REQUEST}.TxInf`]: [[], {}],
  [`${REQUEST}.TxInf.0.OrgnlEndToEndId`]: ['PAY-1', '20261120GNESIDJA010O010000000', '20261120GNESIDJA010X0100000007'],
};

for (const [name, create, members] of [
  ['an account enquiry', enquiry, ENQUIRY_MEMBERS],
  ['a payment status request', statusRequest, REQUEST_MEMBERS],
] as const) {
  describe(`${name} is rejected as invalid (admi.002)`, () => {
    for (const [path, values] of Object.entries(members)) {
      it(`without ${path}, or with an invalid one`, async () => {
        for (const value of [undefined, null, ...values]) {
          const answered = await send(withChange(create(), path, value));
          assert.equal(answered.definition, 'admi.002.001.01', JSON.stringify(value));
          assert.equal(answered.result, path, JSON.stringify(value));
          assert.equal(answered.status, 200);
        }
        assert.match((await send(create())).result, /^AC/);
      });
    }

    it('when it has two transactions, or another message type', async () => {
      const at = name === 'an account enquiry' ? `${TRANSFER}.CdtTrfTxInf` : `${REQUEST}.TxInf`;
      assert.equal((await send(withChange(create(), at, [{}, {}]))).result, at);
      for (const definition of ['pacs.008.001.10', 'pacs.002.001.10', 'acmt.023.001.03', '', undefined]) {
        const answered = await send(withChange(create(), 'BusMsg.AppHdr.MsgDefIdr', definition));
        assert.equal(answered.result, 'BusMsg.AppHdr.MsgDefIdr');
      }
    });

    it('when it is not a JSON object in UTF-8, or has another content type', async () => {
      const valid = JSON.stringify(create());
      for (const body of [`[${valid}]`, valid.slice(1), 'null', '']) {
        const { status, result } = await send(body);
        assert.equal(`${status} ${result}`, '400 body');
      }
      const { status } = await send(new Uint8Array(Buffer.from(valid.replace('GNESIDJA', 'GN\u00c9SIDJA'), 'latin1')));
      assert.equal(status, 400);
      for (const contentType of ['text/plain', 'application/xml', 'application/json; charset=latin1']) {
        assert.equal((await send(valid, contentType)).status, 415);
      }
      assert.match((await send(valid, 'application/json; charset=utf-8')).result, /^AC/);
    });

    it('when it is longer than 16 KiB, or is sent to another path', async () => {
      assert.equal((await send(withChange(create(), 'BusMsg', 'x'.repeat(17 * 1024)))).status, 413);
      const elsewhere = await fetch(`${bank.baseUrl}/v1.0/account-inquiry-external`, { method: 'POST', body: '{}' });
      assert.equal(elsewhere.status, 404);
    });
  });
}

describe('a valid message', () => {
  it('is rejected when its identifiers were used before on the same day: U149', async () => {
    const first = enquiry();
    assert.equal((await send(first)).result, 'ACTC U000');
    assert.equal((await send(first)).result, 'RJCT U149');
    const request = statusRequest();
    assert.equal((await send(request)).result, 'ACSC U000');
    assert.equal((await send(request)).result, 'RJCT U149');
  });

  it('is rejected when only one of its two identifiers is new: U149', async () => {
    const valueIn = (message: Json, path: string): unknown =>
      path.split('.').reduce((at: unknown, name) => (at as Json)[name], message);
    const PATHS = [
      ['BusMsg.AppHdr.BizMsgIdr', `${TRANSACTION}.PmtId.EndToEndId`],
      [`${TRANSFER}.GrpHdr.MsgId`, `${TRANSACTION}.PmtId.TxId`],
    ] as const;
    for (const [one, other] of PATHS) {
      const first = enquiry();
      await send(first);
      const used = valueIn(first, one);
      assert.equal((await send(withChange(withChange(enquiry(), one, used), other, used))).result, 'RJCT U149', one);
    }
  });

  it('is accepted with the identifiers of an invalid message', async () => {
    const message = enquiry();
    assert.equal((await send(withChange(message, `${TRANSACTION}.ChrgBr`, 'CRED'))).definition, 'admi.002.001.01');
    assert.equal((await send(message)).result, 'ACTC U000');
  });

  it('is rejected when its sender is not the participant: U128', async () => {
    for (const message of [enquiry(), statusRequest()]) {
      const other = JSON.parse(JSON.stringify(message).replaceAll(PARTICIPANT, 'BMRIIDJA'));
      // The payment of the inquiry may belong to any participant.
      assert.equal((await send(other)).result, 'RJCT U128');
    }
  });

  it('by alias is answered with the account behind it, in whatever case, and with codes of its own', async () => {
    const account = `${TRANSACTION}.CdtrAcct`;
    const byAlias = (type: string, value: string, Id = 'NOTPROVIDED', bank = 'FASTIDJA'): Json => {
      const proxy = { Id: { Othr: { Id } }, Prxy: { Tp: { Prtry: type }, Id: value } };
      return withChange(withChange(enquiry(), account, proxy), `${TRANSACTION}.CdtrAgt`, institution(bank));
    };
    const holders = new Set<string>();
    for (const value of ['budi@example.com', 'BUDI@EXAMPLE.COM']) {
      const { text } = await send(byAlias('02', value));
      const { CdtrAgt, CdtrAcct, Cdtr } = JSON.parse(text).BusMsg.Document.FIToFIPmtStsRpt.TxInfAndSts[0].OrgnlTxRef;
      assert.deepEqual([CdtrAgt, CdtrAcct.Prxy.Id], [institution('BRINIDJA'), value]);
      assert.match(CdtrAcct.Id.Othr.Id, /^\d{15}$/);
      holders.add(Cdtr.Pty.Nm);
    }
    assert.equal(holders.size, 1);
    for (const [type, value, result] of [
      ['01', '6281234567890', 'ACTC U000'],
      ['01', '628123450404', 'RJCT U804'],
      ['02', 'budi0403@example.com', 'RJCT U805'],
      ['02', 'budi0410@example.com', 'RJCT U102'],
      ['02', 'budi0503@example.com', 'RJCT U129'],
      ['01', 'budi@example.com', `${account}.Prxy.Id`],
      ['01', '081234567890', `${account}.Prxy.Id`],
      ['03', '6281234567890', `${account}.Prxy.Id`],
    ] as const) {
      assert.equal((await send(byAlias(type, value))).result, result, value);
    }
    const changed = async (...changes: string[]) => (await send(byAlias('01', '6281234567890', ...changes))).result;
    assert.equal(await changed('8260371234'), `${account}.Id.Othr.Id`);
    assert.equal(await changed('NOTPROVIDED', 'BRINIDJA'), `${TRANSACTION}.CdtrAgt.FinInstnId.Othr.Id`);
  });

  it('is rejected when the bank is not Indonesian: U124', async () => {
    const agent = `${TRANSACTION}.CdtrAgt.FinInstnId.Othr.Id`;
    assert.equal((await send(withChange(enquiry(), agent, 'DEUTDEFF'))).result, 'RJCT U124');
  });

  it('is rejected when its amount is zero, or over the limit of one BI-FAST transfer: U111, U112', async () => {
    const amount = `${TRANSACTION}.IntrBkSttlmAmt.value`;
    assert.equal((await send(withChange(enquiry(), amount, '0.00'))).result, 'RJCT U111');
    assert.equal((await send(withChange(enquiry(), amount, '250000000.00'))).result, 'ACTC U000');
    assert.equal((await send(withChange(enquiry(), amount, '250000000.01'))).result, 'RJCT U112');
  });
});

describe('a payment status request', () => {
  it('is answered by a report about the payment, or about the request if there is no such payment', async () => {
    const settled = JSON.parse((await send(statusRequest())).text).BusMsg;
    assert.equal(settled.AppHdr.BizSvc, 'STTL');
    const { OrgnlGrpInfAndSts, TxInfAndSts } = settled.Document.FIToFIPmtStsRpt;
    const id = '20261120GNESIDJA01000000007';
    assert.deepEqual(OrgnlGrpInfAndSts, [{ OrgnlMsgId: id, OrgnlMsgNmId: 'pacs.008.001.08' }]);
    assert.equal(TxInfAndSts[0].OrgnlEndToEndId, '20261120GNESIDJA010O0100000007');
    assert.equal(TxInfAndSts[0].OrgnlTxId, id);

    const unknown = JSON.parse((await send(statusRequest('20261120GNESIDJA010O0100000106'))).text).BusMsg;
    assert.equal(unknown.AppHdr.BizSvc, 'CLEAR');
    assert.equal(unknown.Document.FIToFIPmtStsRpt.OrgnlGrpInfAndSts[0].OrgnlMsgNmId, 'pacs.028.001.04');
    assert.equal(unknown.Document.FIToFIPmtStsRpt.TxInfAndSts[0].StsRsnInf[0].Rsn.Prtry, 'U106');
  });
});
