// A BI-FAST hub whose replies the test scripts, valid and invalid ones. It records the requests, validates nothing and
// shares no code with the rail.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { createBiFastRail } from '../../apps/server/src/rails/bi-fast/bi-fast-rail.ts';
import type { BiFastSettings } from '../../apps/server/src/rails/bi-fast/settings.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';

export const PARTICIPANT = 'GNESIDJA';

export const openBiFastRail = (baseUrl: string, changes: Partial<BiFastSettings> = {}): Rail =>
  createBiFastRail({
    name: 'bi-fast',
    baseUrl,
    bic: PARTICIPANT,
    channel: '01',
    purpose: '01',
    enquiryAmount: '1234.56',
    amountMember: 'value',
    accountEnquiryPath: '',
    paymentStatusPath: '',
    aliases: null,
    banks: null,
    ...changes,
  });

export interface HubRequest {
  readonly path: string;
  readonly contentType: string | undefined;
  readonly body: string;
}

/** The reply: a whole body, or an object that becomes one. */
export type HubReply = (request: HubRequest) => { readonly status?: number; readonly body: string | object };

export interface ScriptedHub {
  readonly baseUrl: string;
  readonly requests: readonly HubRequest[];
  reply: HubReply;
  /** Closed with the test. */
  rail(changes?: Partial<BiFastSettings>): Rail;
}

export async function startScriptedHub(context: TestContext, reply: HubReply): Promise<ScriptedHub> {
  const requests: HubRequest[] = [];
  const rails: Rail[] = [];
  const server = createServer((incoming, response) => {
    text(incoming)
      .then((body) => {
        const request = { path: incoming.url ?? '', contentType: incoming.headers['content-type'], body };
        requests.push(request);
        const { status = 200, body: content } = hub.reply(request);
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(typeof content === 'string' ? content : JSON.stringify(content));
      })
      .catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(async () => {
    for (const rail of rails) await rail.close();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the hub has no port');
  const baseUrl = `http://127.0.0.1:${address.port}`;
  const hub: ScriptedHub = {
    baseUrl,
    requests,
    reply,
    rail(changes) {
      const rail = openBiFastRail(baseUrl, changes);
      rails.push(rail);
      return rail;
    },
  };
  return hub;
}

/** The fields of a report; undefined omits a member. */
export interface ReportFields {
  readonly TxSts: string;
  readonly reason?: string | undefined;
  readonly transaction?: Readonly<Record<string, unknown>>;
  readonly group?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
}

interface RequestFields {
  readonly endToEndId: string;
  readonly messageId: string;
  readonly messageName: string;
  readonly accountNumber: string | undefined;
}

/** The fields of a request, as the hub reads them. */
export function fieldsOf({ body }: HubRequest): RequestFields {
  const { AppHdr, Document } = JSON.parse(body).BusMsg;
  const transfer = Document.FIToFICstmrCdtTrf;
  const { MsgId: messageId } = (transfer ?? Document.FIToFIPmtStsReq).GrpHdr;
  return {
    endToEndId: transfer?.CdtTrfTxInf[0].PmtId.EndToEndId ?? Document.FIToFIPmtStsReq.TxInf[0].OrgnlEndToEndId,
    messageId,
    messageName: AppHdr.MsgDefIdr,
    accountNumber: transfer?.CdtTrfTxInf[0].CdtrAcct.Id.Othr.Id,
  };
}

const institution = (id: string): object => ({ FIId: { FinInstnId: { Othr: { Id: id } } } });

/** pacs.002 around one transaction. */
export function reportOn(request: HubRequest, fields: ReportFields): object {
  const { endToEndId, messageId, messageName } = fieldsOf(request);
  // In the order of ISO 20022.
  const { OrgnlTxId, ...transaction } = fields.transaction ?? {};
  return {
    BusMsg: {
      AppHdr: {
        Fr: institution('FASTIDJA'),
        To: institution(PARTICIPANT),
        BizMsgIdr: '20230324FASTIDJA510H9900000001',
        MsgDefIdr: 'pacs.002.001.10',
        CreDt: '2023-03-24T09:21:56Z',
        ...fields.header,
      },
      Document: {
        FIToFIPmtStsRpt: {
          GrpHdr: { MsgId: '20230324FASTIDJA51000000001', CreDtTm: '2023-03-24T16:21:56' },
          OrgnlGrpInfAndSts: [{ OrgnlMsgId: messageId, OrgnlMsgNmId: messageName, ...fields.group }],
          TxInfAndSts: [
            {
              OrgnlEndToEndId: endToEndId,
              ...(OrgnlTxId === undefined ? {} : { OrgnlTxId }),
              TxSts: fields.TxSts,
              ...(fields.reason === undefined ? {} : { StsRsnInf: [{ Rsn: { Prtry: fields.reason } }] }),
              ...transaction,
            },
          ],
        },
      },
    },
  };
}

/** admi.002: the hub found the message malformed. */
export const REJECTION = {
  BusMsg: {
    AppHdr: { MsgDefIdr: 'admi.002.001.01' },
    Document: {
      MessageReject: {
        RltdRef: { Ref: '20230324GNESIDJA510O0131081005' },
        Rsn: { RjctgPtyRsn: 'INVALID', RjctnDtTm: '2023-03-24T09:21:56Z', RsnDesc: 'the message is invalid' },
      },
    },
  },
};

export const HOLDER = 'BUDI SANTOSO';

/** A valid report on an account enquiry: the account is active. */
export function activeReport(request: HubRequest, fields: Partial<ReportFields> = {}): object {
  const { messageId, accountNumber } = fieldsOf(request);
  return reportOn(request, {
    TxSts: 'ACTC',
    reason: 'U000',
    ...fields,
    transaction: {
      OrgnlTxId: messageId,
      OrgnlTxRef: {
        Cdtr: { Pty: { Nm: HOLDER } },
        CdtrAcct: { Id: { Othr: { Id: accountNumber } }, Tp: { Prtry: 'SVGS' } },
      },
      SplmtryData: [{ Envlp: { Dtl: { Cdtr: { Tp: '01', Id: '3174', RsdntSts: '01', TwnNm: '0300' } } } }],
      ...fields.transaction,
    },
  });
}
