import { type AccountOutcome, findAccount } from '../accounts.ts';
import type { Answer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import { GARBAGE, report, TOO_MANY_REQUESTS } from './answers.ts';
import { type Message, textAt } from './message.ts';
import {
  BUSINESS_MESSAGE_ID,
  groupRules,
  hasOneElement,
  headerRules,
  isAnObject,
  isBic,
  isOneOf,
  isSameAs,
  PARTICIPANT_RULE,
  type Rule,
  SENDER,
} from './rules.ts';

const TYPE = '510';
const TRANSFER = 'BusMsg.Document.FIToFICstmrCdtTrf';
const TRANSACTION = `${TRANSFER}.CdtTrfTxInf.0`;
const MESSAGE_ID = `${TRANSFER}.GrpHdr.MsgId`;
const CREDITOR_AGENT = `${TRANSACTION}.CdtrAgt.FinInstnId.Othr.Id`;
const ACCOUNT = `${TRANSACTION}.CdtrAcct.Id.Othr.Id`;
const AMOUNT = `${TRANSACTION}.IntrBkSttlmAmt.value`;

const DECIMAL = /^(?:0|[1-9]\d{0,15})\.\d{2}$/;
const ACCOUNT_NUMBER = /^\d{1,34}$/;
const INDONESIAN_BIC = /^.{4}ID/;
// What BI-FAST moves at once, in rupiah.
const AMOUNT_MAX = 250_000_000;

/** Account enquiry: pacs.008.001.08 whose category purpose is 510 and a purpose. */
export const ENQUIRY_RULES: readonly Rule[] = [
  ...headerRules(TYPE),
  ...groupRules(`${TRANSFER}.GrpHdr`, TYPE),
  { at: `${TRANSFER}.GrpHdr.NbOfTxs`, holds: isOneOf('1') },
  { at: `${TRANSFER}.GrpHdr.SttlmInf.SttlmMtd`, holds: isOneOf('CLRG') },
  { at: `${TRANSFER}.CdtTrfTxInf`, holds: hasOneElement },
  { at: `${TRANSACTION}.PmtId.EndToEndId`, holds: isSameAs(BUSINESS_MESSAGE_ID) },
  { at: `${TRANSACTION}.PmtId.TxId`, holds: isSameAs(MESSAGE_ID) },
  { at: `${TRANSACTION}.PmtTpInf.CtgyPurp.Prtry`, holds: isOneOf('51001', '51002', '51003', '51099') },
  { at: AMOUNT, holds: (value) => typeof value === 'string' && DECIMAL.test(value) },
  { at: `${TRANSACTION}.IntrBkSttlmAmt.Ccy`, holds: isOneOf('IDR') },
  { at: `${TRANSACTION}.ChrgBr`, holds: isOneOf('DEBT') },
  { at: `${TRANSACTION}.Dbtr`, holds: isAnObject },
  { at: `${TRANSACTION}.DbtrAgt.FinInstnId.Othr.Id`, holds: isSameAs(SENDER) },
  { at: CREDITOR_AGENT, holds: isBic },
  { at: `${TRANSACTION}.Cdtr`, holds: isAnObject },
  { at: ACCOUNT, holds: (value) => typeof value === 'string' && ACCOUNT_NUMBER.test(value) },
  PARTICIPANT_RULE,
  { at: CREDITOR_AGENT, holds: (value) => INDONESIAN_BIC.test(String(value)), reason: 'U124' },
  { at: AMOUNT, holds: (value) => Number(value) > 0, reason: 'U111' },
  { at: AMOUNT, holds: (value) => Number(value) <= AMOUNT_MAX, reason: 'U112' },
];

type Refused = Exclude<AccountOutcome['kind'], 'active' | 'garbage' | 'silence' | 'too-many-requests'>;

/** U101 and U102 as a mock of the hub uses them. No code of its own is known for a blocked account. */
const REASONS: Readonly<Record<Refused, string>> = {
  'not-found': 'U101',
  inactive: 'U102',
  blocked: 'U110',
  unavailable: 'U129',
};

/** `reason` rejects the enquiry whatever its account is; null lets the account decide. */
export function answerEnquiry(bank: Bank, message: Message, reason: string | null): Answer | 'never' {
  if (reason !== null) return tell(bank, message, 'RJCT', reason);
  const outcome = findAccount(textAt(message, CREDITOR_AGENT), textAt(message, ACCOUNT));
  if (outcome.kind === 'silence') return 'never';
  if (outcome.kind === 'garbage') return GARBAGE;
  if (outcome.kind === 'too-many-requests') return TOO_MANY_REQUESTS;
  if (outcome.kind !== 'active') return tell(bank, message, 'RJCT', REASONS[outcome.kind]);
  return tell(bank, message, 'ACTC', 'U000', { Cdtr: { Pty: { Nm: outcome.holderName } } });
}

function tell(bank: Bank, message: Message, status: string, reason: string, holder: object = {}): Answer {
  const messageId = textAt(message, MESSAGE_ID);
  const accountType = status === 'ACTC' ? 'SVGS' : 'OTHR';
  return report(
    bank,
    { type: TYPE },
    {
      status,
      reason,
      endToEndId: textAt(message, BUSINESS_MESSAGE_ID),
      transactionId: messageId,
      messageId,
      messageName: 'pacs.008.001.08',
      about: {
        ...holder,
        CdtrAcct: { Id: { Othr: { Id: textAt(message, ACCOUNT) } }, Tp: { Prtry: accountType } },
      },
    },
  );
}
