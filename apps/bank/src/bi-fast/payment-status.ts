import type { Answer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import { GARBAGE, report, TOO_MANY_REQUESTS } from './answers.ts';
import { type Message, textAt } from './message.ts';
import { groupRules, hasOneElement, headerRules, isEndToEndId, PARTICIPANT_RULE, type Rule } from './rules.ts';

const TYPE = '000';
const REQUEST = 'BusMsg.Document.FIToFIPmtStsReq';
const ASKED_PAYMENT = `${REQUEST}.TxInf.0.OrgnlEndToEndId`;
const REQUEST_NAME = 'pacs.028.001.04';
const TRANSFER_NAME = 'pacs.008.001.08';

/** Payment status request: pacs.028.001.04 about one payment. */
export const STATUS_RULES: readonly Rule[] = [
  ...headerRules(TYPE),
  ...groupRules(`${REQUEST}.GrpHdr`, TYPE),
  { at: `${REQUEST}.TxInf`, holds: hasOneElement },
  { at: ASKED_PAYMENT, holds: isEndToEndId },
  PARTICIPANT_RULE,
];

/** What the hub says of a payment. */
interface Ending {
  readonly status: string;
  readonly reason?: string;
  /** `BizSvc` of the header: still clearing, or settled. */
  readonly service: 'CLEAR' | 'STTL';
  /** The report is on the request itself, not on the payment. */
  readonly onRequest?: true;
}

const rejected = (reason: string): Ending => ({ status: 'RJCT', reason, service: 'CLEAR' });
const underWay = (status: string): Ending => ({ status, reason: 'U000', service: 'CLEAR' });

const SETTLED: Ending = { status: 'ACSC', reason: 'U000', service: 'STTL' };

/** The last four digits of a payment's EndToEndId: this hub takes no payments, so that nothing else tells them apart. */
const ENDINGS: ReadonlyMap<string, Ending> = new Map([
  ...['U101', 'U102', 'U107', 'U108', 'U110', 'U112', 'U129', 'U155', 'U173', 'U805', 'U900'].map(
    (reason): [string, Ending] => [`0${reason.slice(1)}`, rejected(reason)],
  ),
  ['0106', { ...rejected('U106'), onRequest: true }],
  ['0901', { ...rejected('U901'), onRequest: true }],
  ['1001', underWay('ACTC')],
  ['1002', underWay('ACSP')],
  ['1003', { status: 'BLCK', service: 'CLEAR' }],
  ['1004', { status: 'CANC', service: 'CLEAR' }],
  ['1005', { status: 'ACCC', reason: 'U000', service: 'STTL' }],
]);

/** `reason` rejects the request whatever it asks about; null lets the payment decide. */
export function answerStatus(bank: Bank, message: Message, reason: string | null): Answer | 'never' {
  const endToEndId = textAt(message, ASKED_PAYMENT);
  const lastDigits = endToEndId.slice(-4);
  if (reason === null && lastDigits === '0504') return 'never';
  if (reason === null && lastDigits === '0500') return GARBAGE;
  if (reason === null && lastDigits === '0429') return TOO_MANY_REQUESTS;
  const ending: Ending =
    reason === null ? (ENDINGS.get(lastDigits) ?? SETTLED) : { ...rejected(reason), onRequest: true };
  const { status, service, onRequest } = ending;
  const told = { status, endToEndId, ...(ending.reason === undefined ? {} : { reason: ending.reason }) };
  if (onRequest) {
    const messageId = textAt(message, `${REQUEST}.GrpHdr.MsgId`);
    return report(bank, { type: TYPE, service }, { ...told, messageId, messageName: REQUEST_NAME });
  }
  // The payment's own identifier: as its EndToEndId, without originator and channel.
  const transactionId = `${endToEndId.slice(0, 19)}${endToEndId.slice(-8)}`;
  const original = { messageId: transactionId, messageName: TRANSFER_NAME, transactionId };
  return report(bank, { type: TYPE, service }, { ...told, ...original });
}
