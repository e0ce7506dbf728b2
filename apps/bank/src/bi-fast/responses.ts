import type { Bank } from '../bank.ts';
import { type BankResponse, jsonResponse } from '../http.ts';
import { localDay, localTime, type Message, textAt, utcTime } from './message.ts';
import { BUSINESS_MESSAGE_ID, MESSAGE_DEFINITION } from './rules.ts';

export const HUB = 'FASTIDJA';

/** The hub's report on one transaction. */
export interface TransactionReport {
  /** Status of ISO 20022, such as `ACTC`. */
  readonly status: string;
  /** The hub's reason code, such as `U000`. */
  readonly reason?: string;
  readonly endToEndId: string;
  readonly transactionId?: string;
  readonly originalTransaction?: object;
  /** MsgId of the message that the report is about. */
  readonly messageId?: string;
  readonly messageName: string;
}

interface ReportType {
  /** The three digits of the message type in identifiers. */
  readonly type: string;
  readonly service?: string;
}

/** pacs.002.001.10 about one transaction. */
export function statusReport(bank: Bank, { type, service }: ReportType, transaction: TransactionReport): BankResponse {
  const nowMs = bank.now();
  const serial = bank.nextReferenceNo().slice(-8);
  const start = `${localDay(nowMs)}${HUB}${type}`;
  return businessMessage(bank, `${start}H99${serial}`, 'pacs.002.001.10', service, {
    FIToFIPmtStsRpt: {
      GrpHdr: { MsgId: `${start}${serial}`, CreDtTm: localTime(nowMs) },
      OrgnlGrpInfAndSts: [{ OrgnlMsgId: transaction.messageId, OrgnlMsgNmId: transaction.messageName }],
      TxInfAndSts: [
        {
          OrgnlEndToEndId: transaction.endToEndId,
          OrgnlTxId: transaction.transactionId,
          TxSts: transaction.status,
          StsRsnInf: transaction.reason === undefined ? undefined : [{ Rsn: { Prtry: transaction.reason } }],
          OrgnlTxRef: transaction.originalTransaction,
        },
      ],
    },
  });
}

/** admi.002.001.01: the message is not valid. `location` is the path of the invalid value. */
export function reject(bank: Bank, message: Message, location: string, status = 200): BankResponse {
  const nowMs = bank.now();
  const id = `${localDay(nowMs)}${HUB}000H99${bank.nextReferenceNo().slice(-8)}`;
  const rejected = businessMessage(bank, id, 'admi.002.001.01', undefined, {
    MessageReject: {
      RltdRef: { Ref: textAt(message, BUSINESS_MESSAGE_ID) || 'UNKNOWN' },
      Rsn: {
        RjctgPtyRsn: 'INVALID',
        RjctnDtTm: utcTime(nowMs),
        ErrLctn: location,
        RsnDesc: `${location} of ${textAt(message, MESSAGE_DEFINITION) || 'a message'} is missing or wrong`,
      },
    },
  });
  return { ...rejected, status };
}

/** `JSON.stringify` leaves out undefined members. */
function businessMessage(
  bank: Bank,
  id: string,
  definition: string,
  service: string | undefined,
  document: object,
): BankResponse {
  const institution = (bic: string): object => ({ FIId: { FinInstnId: { Othr: { Id: bic } } } });
  return jsonResponse(200, {
    BusMsg: {
      AppHdr: {
        Fr: institution(HUB),
        To: institution(bank.settings.partnerId),
        BizMsgIdr: id,
        MsgDefIdr: definition,
        BizSvc: service,
        CreDt: utcTime(bank.now()),
      },
      Document: document,
    },
  });
}

/** HTTP status 200, but the body is HTML, not JSON. */
export const MALFORMED_RESPONSE: BankResponse = {
  status: 200,
  contentType: 'text/html; charset=utf-8',
  body: '<!DOCTYPE html>\n<html><head><title>CI Connector</title></head><body>Layanan sedang sibuk.</body></html>\n',
};

export const TOO_MANY_REQUESTS: BankResponse = jsonResponse(429, {});
