import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type RunningBank, startBank } from '../../apps/bank/src/server.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { createClock, partnerSettings } from './partner.ts';

// The messages are written here by hand and sent over real HTTP: they share nothing with the hub's code or the rail's.

const PARTICIPANT = 'GNESIDJA';
const NOW = '2026-11-21T04:30:00Z';
const LOCAL_NOW = '2026-11-21T11:30:00';

type Json = { [name: string]: unknown };

interface HubResponse {
  readonly status: number;
  readonly text: string;
  /** What the message is, by its header. */
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

/** A right account enquiry, with identifiers of its own. */
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

/** A right payment status request. */
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

/** The same message with another value at a path; undefined leaves the member out. */
function changed(message: Json, path: string, value: unknown): Json {
  const copy = structuredClone(message);
  const names = path.split('.');
  const last = names.pop() ?? '';
  const parent = names.reduce((at, name) => at[name] as Json, copy);
  assert.ok(last in parent, `${path} is there`);
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
  it('is answered by pacs.002 that names it, the account and the holder', async () => {
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

  it('is answered by what the last four digits of the account stand for', async () => {
    const told = { '0404': 'RJCT U101', '0410': 'RJCT U102', '0403': 'RJCT U110', '0503': 'RJCT U129' };
    for (const [ending, said] of Object.entries(told))
      assert.equal((await send(enquiry(`826037${ending}`))).result, said);
    assert.equal((await send(enquiry('8260370429'))).status, 429);
    const garbage = await send(enquiry('8260370500'));
    assert.match(`${garbage.status} ${garbage.text}`, /^200 <!DOCTYPE html>/);
  });

  it('about an account of BCA finds none unless it has ten digits', async () => {
    const toBca = (account: string): Json =>
      changed(enquiry(account), 'BusMsg.Document.FIToFICstmrCdtTrf.CdtTrfTxInf.0.CdtrAgt', institution('CENAIDJA'));
    assert.equal((await send(toBca('8888010001'))).result, 'ACTC U000');
    assert.equal((await send(toBca('888801000'))).result, 'RJCT U101');
  });
});

/** Each member of a message that has a rule, with wrong values; a message without it, or with one of them, is none. */
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

for (const [what, write, members] of [
  ['an account enquiry', enquiry, ENQUIRY_MEMBERS],
  ['a payment status request', statusRequest, REQUEST_MEMBERS],
] as const) {
  describe(`${what} is no message (admi.002)`, () => {
    for (const [path, values] of Object.entries(members)) {
      it(`without ${path}, or with a wrong one`, async () => {
        for (const value of [undefined, null, ...values]) {
          const answered = await send(changed(write(), path, value));
          assert.equal(answered.definition, 'admi.002.001.01', JSON.stringify(value));
          assert.equal(answered.result, path, JSON.stringify(value));
          assert.equal(answered.status, 200);
        }
        assert.match((await send(write())).result, /^AC/);
      });
    }

    it('when it holds two transactions, or is of another kind', async () => {
      const at = what === 'an account enquiry' ? `${TRANSFER}.CdtTrfTxInf` : `${REQUEST}.TxInf`;
      assert.equal((await send(changed(write(), at, [{}, {}]))).result, at);
      for (const definition of ['pacs.008.001.10', 'pacs.002.001.10', 'acmt.023.001.03', '', undefined]) {
        const answered = await send(changed(write(), 'BusMsg.AppHdr.MsgDefIdr', definition));
        assert.equal(answered.result, 'BusMsg.AppHdr.MsgDefIdr');
      }
    });

    it('when it is no JSON object in UTF-8, or is not called so', async () => {
      const right = JSON.stringify(write());
      for (const body of [`[${right}]`, right.slice(1), 'null', '']) {
        const { status, result } = await send(body);
        assert.equal(`${status} ${result}`, '400 body');
      }
      const { status } = await send(new Uint8Array(Buffer.from(right.replace('GNESIDJA', 'GN\u00c9SIDJA'), 'latin1')));
      assert.equal(status, 400);
      for (const contentType of ['text/plain', 'application/xml', 'application/json; charset=latin1']) {
        assert.equal((await send(right, contentType)).status, 415);
      }
      assert.match((await send(right, 'application/json; charset=utf-8')).result, /^AC/);
    });

    it('when it is longer than 16 KiB, or comes to another address', async () => {
      assert.equal((await send(changed(write(), 'BusMsg', 'x'.repeat(17 * 1024)))).status, 413);
      const elsewhere = await fetch(`${bank.baseUrl}/v1.0/account-inquiry-external`, { method: 'POST', body: '{}' });
      assert.equal(elsewhere.status, 404);
    });
  });
}

describe('a right message is rejected', () => {
  it('when its identifiers were used before on the same day: U149', async () => {
    const first = enquiry();
    assert.equal((await send(first)).result, 'ACTC U000');
    assert.equal((await send(first)).result, 'RJCT U149');
    const request = statusRequest();
    assert.equal((await send(request)).result, 'ACSC U000');
    assert.equal((await send(request)).result, 'RJCT U149');
  });

  it('when only one of its two identifiers is new: U149', async () => {
    const valueIn = (message: Json, path: string): unknown =>
      path.split('.').reduce((at: unknown, name) => (at as Json)[name], message);
    const PLACES = [
      ['BusMsg.AppHdr.BizMsgIdr', `${TRANSACTION}.PmtId.EndToEndId`],
      [`${TRANSFER}.GrpHdr.MsgId`, `${TRANSACTION}.PmtId.TxId`],
    ] as const;
    for (const [one, other] of PLACES) {
      const first = enquiry();
      await send(first);
      const used = valueIn(first, one);
      assert.equal((await send(changed(changed(enquiry(), one, used), other, used))).result, 'RJCT U149', one);
    }
  });

  it('and one that was none has used nothing up', async () => {
    const message = enquiry();
    assert.equal((await send(changed(message, `${TRANSACTION}.ChrgBr`, 'CRED'))).definition, 'admi.002.001.01');
    assert.equal((await send(message)).result, 'ACTC U000');
  });

  it('when its sender is not the participant: U128', async () => {
    for (const message of [enquiry(), statusRequest()]) {
      const other = JSON.parse(JSON.stringify(message).replaceAll(PARTICIPANT, 'BMRIIDJA'));
      // The payment that is asked about may be anybody's.
      assert.equal((await send(other)).result, 'RJCT U128');
    }
  });

  it('when the bank is not Indonesian: U124', async () => {
    const agent = `${TRANSACTION}.CdtrAgt.FinInstnId.Othr.Id`;
    assert.equal((await send(changed(enquiry(), agent, 'DEUTDEFF'))).result, 'RJCT U124');
  });

  it('when its amount is none, or more than BI-FAST moves at once: U111, U112', async () => {
    const amount = `${TRANSACTION}.IntrBkSttlmAmt.value`;
    assert.equal((await send(changed(enquiry(), amount, '0.00'))).result, 'RJCT U111');
    assert.equal((await send(changed(enquiry(), amount, '250000000.00'))).result, 'ACTC U000');
    assert.equal((await send(changed(enquiry(), amount, '250000000.01'))).result, 'RJCT U112');
  });
});

describe('a payment status request', () => {
  it('is answered by the report on the payment, or on the request where there is no payment', async () => {
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
