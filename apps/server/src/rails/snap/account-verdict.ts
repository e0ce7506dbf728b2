import type { Verdict } from '../../domain/account.ts';
import { isPlainText } from '../../domain/identifiers.ts';
import { reasonForStatus } from '../no-answer.ts';
import type { InquiryOutcome, NoVerdictReason } from '../rail.ts';
import { parseReply, type ResponseCode } from './reply.ts';

/** What was asked, for holding the reply against it. */
export interface AskedAccount {
  /** `15` internal, `16` external. */
  readonly service: string;
  readonly accountNumber: string;
  readonly bankCode: string | null;
}

/**
 * HTTP status and case code to a verdict. Everything that is not here is no verdict: a bank's code that is not known
 * for certain to speak of the account must never read as "not found".
 */
const VERDICTS: Readonly<Record<string, Exclude<Verdict['status'], 'ACTIVE'>>> = {
  '404 11': 'NOT_FOUND', // invalid account
  '403 09': 'INACTIVE', // dormant account
  '403 18': 'INACTIVE', // inactive account
  '403 05': 'BLOCKED', // do not honor: the account's status is abnormal
  '403 07': 'BLOCKED', // card blocked
  '403 16': 'BLOCKED', // suspended
};

const SUCCESSFUL = '200 00';

/** Free text in the internal inquiry's `beneficiaryAccountStatus`, in lower case. An unknown one is no verdict. */
const ACCOUNT_STATUS_WORDS: Readonly<Record<string, Verdict['status']>> = {
  'rekening aktif': 'ACTIVE',
  aktif: 'ACTIVE',
  active: 'ACTIVE',
  'rekening tidak aktif': 'INACTIVE',
  'tidak aktif': 'INACTIVE',
  inactive: 'INACTIVE',
  'rekening dormant': 'INACTIVE',
  dormant: 'INACTIVE',
  'rekening diblokir': 'BLOCKED',
  diblokir: 'BLOCKED',
  blokir: 'BLOCKED',
  blocked: 'BLOCKED',
};

const NAME_LENGTH_MAX = 100;

/** An object where one of these should be text may be the bank's way to say what must not be overlooked. */
const READ_FIELDS = [
  'beneficiaryAccountNo',
  'beneficiaryBankCode',
  'beneficiaryAccountName',
  'beneficiaryAccountStatus',
] as const;

/** What a reply to an account inquiry means. It is believed only when it is well-formed and speaks of what was asked. */
export function accountVerdict(httpStatus: number, body: string, asked: AskedAccount): InquiryOutcome {
  const reply = parseReply(body);
  const code = reply?.responseCode ?? null;
  if (reply === null || code === null)
    return noVerdict(httpStatus >= 500 ? 'bank_unavailable' : 'not_understood', code);
  if (code.service !== asked.service || code.httpStatus !== httpStatus) return noVerdict('not_understood', code);
  if (READ_FIELDS.some((name) => reply.others.has(name))) return noVerdict('not_understood', code);
  const { beneficiaryAccountNo: account, beneficiaryBankCode: bank } = reply.fields;
  const named = account === undefined || account === asked.accountNumber;
  const sameBank = bank === undefined || asked.bankCode === null || bank === asked.bankCode;
  if (!named || !sameBank) return noVerdict('not_understood', code);

  const meaning = `${code.httpStatus} ${code.case}`;
  const negative = Object.hasOwn(VERDICTS, meaning) ? VERDICTS[meaning] : undefined;
  if (negative !== undefined) return { kind: 'verdict', verdict: { status: negative }, railCode: code.text };
  if (meaning !== SUCCESSFUL) return noVerdict(reasonForStatus(code.httpStatus), code);

  const name = reply.fields['beneficiaryAccountName']?.trim().normalize('NFC') ?? '';
  const word = reply.fields['beneficiaryAccountStatus']?.trim().toLowerCase() ?? 'active';
  const status = Object.hasOwn(ACCOUNT_STATUS_WORDS, word) ? ACCOUNT_STATUS_WORDS[word] : undefined;
  // A success names the account: what does not repeat the number may be the answer to another question.
  if (account === undefined || status === undefined) return noVerdict('not_understood', code);
  if (status !== 'ACTIVE') return { kind: 'verdict', verdict: { status }, railCode: code.text };
  if (name === '' || !isPlainText(name, NAME_LENGTH_MAX)) return noVerdict('not_understood', code);
  return { kind: 'verdict', verdict: { status, accountName: name }, railCode: code.text };
}

const noVerdict = (reason: NoVerdictReason, code: ResponseCode | null): InquiryOutcome => ({
  kind: 'no_verdict',
  reason,
  railCode: code?.text ?? null,
});
