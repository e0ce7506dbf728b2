import type { Bank } from '../bank.ts';
import type { BankResponse } from '../http.ts';
import { type Message, textAt } from './message.ts';
import { MALFORMED_RESPONSE, statusReport, TOO_MANY_REQUESTS } from './responses.ts';
import { groupRules, hasOneElement, headerRules, isEndToEndId, PARTICIPANT_RULE, type Rule } from './rules.ts';

const TYPE = '000';
const REQUEST = 'BusMsg.Document.FIToFIPmtStsReq';
const INQUIRED_PAYMENT = `${REQUEST}.TxInf.0.OrgnlEndToEndId`;
const REQUEST_NAME = 'pacs.028.001.04';
const TRANSFER_NAME = 'pacs.008.001.08';

/** Payment status request: pacs.028.001.04 about one payment. */
export const STATUS_RULES: readonly Rule[] = [
  ...headerRules(TYPE),
  ...groupRules(`${REQUEST}.GrpHdr`, TYPE),
  { path: `${REQUEST}.TxInf`, isValid: hasOneElement },
  { path: INQUIRED_PAYMENT, isValid: isEndToEndId },
  PARTICIPANT_RULE,
];

/** A status that the hub reports for a payment. */
interface ScriptedStatus {
  readonly status: string;
  readonly reason?: string;
  /** `BizSvc` of the header: in clearing, or settled. */
  readonly service: 'CLEAR' | 'STTL';
  /** The report is about the request, not about the payment. */
  readonly onRequest?: true;
}

const rejected = (reason: string): ScriptedStatus => ({ status: 'RJCT', reason, service: 'CLEAR' });
const inProgress = (status: string): ScriptedStatus => ({ status, reason: 'U000', service: 'CLEAR' });

const SETTLED: ScriptedStatus = { status: 'ACSC', reason: 'U000', service: 'STTL' };

/**
 * The status by the last four digits of a payment's EndToEndId. This hub accepts no payments, so nothing else
 * distinguishes them.
 */
const STATUSES_BY_ENDING: ReadonlyMap<string, ScriptedStatus> = new Map([
  ...['U101', 'U102', 'U107', 'U108', 'U110', 'U112', 'U129', 'U155', 'U173', 'U805', 'U900'].map(
    (reason): [string, ScriptedStatus] => [`0${reason.slice(1)}`, rejected(reason)],
  ),
  ['0106', { ...rejected('U106'), onRequest: true }],
  ['0901', { ...rejected('U901'), onRequest: true }],
  ['1001', inProgress('ACTC')],
  ['1002', inProgress('ACSP')],
  ['1003', { status: 'BLCK', service: 'CLEAR' }],
  ['1004', { status: 'CANC', service: 'CLEAR' }],
  ['1005', { status: 'ACCC', reason: 'U000', service: 'STTL' }],
]);

/** `reason` rejects the request, whatever its payment; with null, the payment determines the report. */
export function handleStatusRequest(bank: Bank, message: Message, reason: string | null): BankResponse | 'no-response' {
  const endToEndId = textAt(message, INQUIRED_PAYMENT);
  const lastDigits = endToEndId.slice(-4);
  if (reason === null && lastDigits === '0504') return 'no-response';
  if (reason === null && lastDigits === '0500') return MALFORMED_RESPONSE;
  if (reason === null && lastDigits === '0429') return TOO_MANY_REQUESTS;
  const scripted: ScriptedStatus =
    reason === null ? (STATUSES_BY_ENDING.get(lastDigits) ?? SETTLED) : { ...rejected(reason), onRequest: true };
  const { status, service, onRequest } = scripted;
  const transaction = { status, endToEndId, ...(scripted.reason === undefined ? {} : { reason: scripted.reason }) };
  if (onRequest) {
    const messageId = textAt(message, `${REQUEST}.GrpHdr.MsgId`);
    return statusReport(bank, { type: TYPE, service }, { ...transaction, messageId, messageName: REQUEST_NAME });
  }
  // The payment's MsgId: its EndToEndId without originator and channel.
  const transactionId = `${endToEndId.slice(0, 19)}${endToEndId.slice(-8)}`;
  const original = { messageId: transactionId, messageName: TRANSFER_NAME, transactionId };
  return statusReport(bank, { type: TYPE, service }, { ...transaction, ...original });
}
