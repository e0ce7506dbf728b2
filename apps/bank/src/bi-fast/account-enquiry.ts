import { type AccountOutcome, type AliasedAccount, findAccount, findAliasedAccount, isAlias } from '../accounts.ts';
import type { Bank } from '../bank.ts';
import type { BankResponse } from '../http.ts';
import { type Message, textAt, valueAt } from './message.ts';
import { HUB, MALFORMED_RESPONSE, statusReport, TOO_MANY_REQUESTS } from './responses.ts';
import {
  BUSINESS_MESSAGE_ID,
  groupRules,
  hasOneElement,
  headerRules,
  isBic,
  isJsonObject,
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
const PROXY = `${TRANSACTION}.CdtrAcct.Prxy`;
const PROXY_TYPE = `${PROXY}.Tp.Prtry`;
const PROXY_ID = `${PROXY}.Id`;
const AMOUNT = `${TRANSACTION}.IntrBkSttlmAmt.value`;

const DECIMAL = /^(?:0|[1-9]\d{0,15})\.\d{2}$/;
const ACCOUNT_NUMBER = /^\d{1,34}$/;
// The version of this message has a mandatory account.
const NOT_PROVIDED = 'NOTPROVIDED';
const INDONESIAN_BIC = /^.{4}ID/;
// The maximum amount of one BI-FAST transfer, in rupiah.
const AMOUNT_MAX = 250_000_000;

/** By an alias instead of an account number. */
const hasProxy = (message: Message): boolean => valueAt(message, PROXY) !== undefined;

/** Account enquiry: pacs.008.001.08 whose category purpose is `510` followed by a purpose code. */
export const ENQUIRY_RULES: readonly Rule[] = [
  ...headerRules(TYPE),
  ...groupRules(`${TRANSFER}.GrpHdr`, TYPE),
  { path: `${TRANSFER}.GrpHdr.NbOfTxs`, isValid: isOneOf('1') },
  { path: `${TRANSFER}.GrpHdr.SttlmInf.SttlmMtd`, isValid: isOneOf('CLRG') },
  { path: `${TRANSFER}.CdtTrfTxInf`, isValid: hasOneElement },
  { path: `${TRANSACTION}.PmtId.EndToEndId`, isValid: isSameAs(BUSINESS_MESSAGE_ID) },
  { path: `${TRANSACTION}.PmtId.TxId`, isValid: isSameAs(MESSAGE_ID) },
  { path: `${TRANSACTION}.PmtTpInf.CtgyPurp.Prtry`, isValid: isOneOf('51001', '51002', '51003', '51099') },
  { path: AMOUNT, isValid: (value) => typeof value === 'string' && DECIMAL.test(value) },
  { path: `${TRANSACTION}.IntrBkSttlmAmt.Ccy`, isValid: isOneOf('IDR') },
  { path: `${TRANSACTION}.ChrgBr`, isValid: isOneOf('DEBT') },
  { path: `${TRANSACTION}.Dbtr`, isValid: isJsonObject },
  { path: `${TRANSACTION}.DbtrAgt.FinInstnId.Othr.Id`, isValid: isSameAs(SENDER) },
  { path: CREDITOR_AGENT, isValid: isBic },
  { path: `${TRANSACTION}.Cdtr`, isValid: isJsonObject },
  {
    path: ACCOUNT,
    isValid: (value, message) =>
      hasProxy(message) ? value === NOT_PROVIDED : typeof value === 'string' && ACCOUNT_NUMBER.test(value),
  },
  {
    path: PROXY_ID,
    isValid: (value, message) =>
      !hasProxy(message) || (typeof value === 'string' && isAlias(textAt(message, PROXY_TYPE), value)),
  },
  // The bank of an alias is not known: the hub itself stands for it.
  { path: CREDITOR_AGENT, isValid: (value, message) => hasProxy(message) === (value === HUB) },
  PARTICIPANT_RULE,
  { path: CREDITOR_AGENT, isValid: (value) => INDONESIAN_BIC.test(String(value)), reason: 'U124' },
  { path: AMOUNT, isValid: (value) => Number(value) > 0, reason: 'U111' },
  { path: AMOUNT, isValid: (value) => Number(value) <= AMOUNT_MAX, reason: 'U112' },
];

type RejectedAccount = Exclude<AccountOutcome['kind'], 'active' | 'malformed' | 'no-response' | 'too-many-requests'>;

/** U101 and U102 are used as a mock of the hub uses them. No specific code for a blocked account is known. */
const REASONS: Readonly<Record<RejectedAccount, string>> = {
  'not-found': 'U101',
  inactive: 'U102',
  blocked: 'U110',
  unavailable: 'U129',
};

/** The alias directory has codes of its own. */
const ALIAS_REASONS: Readonly<Partial<Record<RejectedAccount, string>>> = { 'not-found': 'U804', blocked: 'U805' };

/** `reason` rejects the enquiry, whatever its account; with null, the account determines the report. */
export function handleEnquiry(bank: Bank, message: Message, reason: string | null): BankResponse | 'no-response' {
  if (reason !== null) return accountReport(bank, message, 'RJCT', reason);
  const aliased = hasProxy(message) ? findAliasedAccount(textAt(message, PROXY_ID)) : null;
  const outcome = aliased?.outcome ?? findAccount(textAt(message, CREDITOR_AGENT), textAt(message, ACCOUNT));
  if (outcome.kind === 'no-response') return 'no-response';
  if (outcome.kind === 'malformed') return MALFORMED_RESPONSE;
  if (outcome.kind === 'too-many-requests') return TOO_MANY_REQUESTS;
  if (outcome.kind !== 'active') {
    const known = aliased === null ? undefined : ALIAS_REASONS[outcome.kind];
    return accountReport(bank, message, 'RJCT', known ?? REASONS[outcome.kind]);
  }
  return accountReport(bank, message, 'ACTC', 'U000', { Cdtr: { Pty: { Nm: outcome.holderName } } }, aliased);
}

function accountReport(
  bank: Bank,
  message: Message,
  status: string,
  reason: string,
  holder: object = {},
  aliased: AliasedAccount | null = null,
): BankResponse {
  const messageId = textAt(message, MESSAGE_ID);
  const accountType = status === 'ACTC' ? 'SVGS' : 'OTHR';
  return statusReport(
    bank,
    { type: TYPE },
    {
      status,
      reason,
      endToEndId: textAt(message, BUSINESS_MESSAGE_ID),
      transactionId: messageId,
      messageId,
      messageName: 'pacs.008.001.08',
      originalTransaction: {
        CdtrAgt: aliased === null ? undefined : { FinInstnId: { Othr: { Id: aliased.bic } } },
        ...holder,
        CdtrAcct: {
          Id: { Othr: { Id: aliased?.accountNo ?? textAt(message, ACCOUNT) } },
          Tp: { Prtry: accountType },
          Prxy: valueAt(message, PROXY),
        },
      },
    },
  );
}
