import { isAccountStatus, type Verdict } from '../../domain/account.ts';
import { ownProperty } from '../../lib/own-property.ts';
import { readHolderName } from '../holder-name.ts';
import type { InquiryOutcome, NoVerdictReason } from '../rail.ts';
import { reasonForResponseCode } from './exchange-failure.ts';
import type { NegativeStatus, SnapProfile, SnapRoute } from './profiles/profile.ts';
import { otherOf, parseReply, type Reply, type ResponseCode, readText, textOf } from './reply.ts';

/** What was asked, for holding the reply against it. */
export interface SentAccountInquiry {
  /** Its code: `15` internal, `16` external. */
  readonly service: string;
  readonly accountNumber: string;
  /** As the bank repeats it; null where it cannot name another bank than itself. */
  readonly bankCode: string | null;
}

/** What is particular to the bank (profiles/profile.ts). */
export type VerdictRules = Pick<SnapProfile, 'codes'> & Pick<SnapRoute, 'confirmation'>;

const NOTHING_PARTICULAR: VerdictRules = { codes: {}, confirmation: null };

/**
 * HTTP status and case code to a verdict. Everything that is not here is no verdict: a bank's code that is not known
 * for certain to speak of the account must never read as "not found".
 */
const VERDICTS: ReadonlyMap<string, NegativeStatus> = new Map([
  ['404 11', 'NOT_FOUND'], // invalid account
  ['403 09', 'INACTIVE'], // dormant account
  ['403 18', 'INACTIVE'], // inactive account
  ['403 05', 'BLOCKED'], // do not honor: the account's status is abnormal
  ['403 07', 'BLOCKED'], // card blocked
  ['403 16', 'BLOCKED'], // suspended
]);

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
  'partnerReferenceNo',
] as const;

/**
 * What a reply to an account inquiry means. It is believed only when it is well-formed and speaks of what was asked.
 * `reference` is the `partnerReferenceNo` of the question; null when it had none.
 */
export function accountVerdict(
  httpStatus: number,
  body: string,
  asked: SentAccountInquiry,
  rules: VerdictRules = NOTHING_PARTICULAR,
  reference: string | null = null,
): InquiryOutcome {
  const reply = parseReply(body);
  const code = reply?.responseCode ?? null;
  if (reply === null || code === null)
    return noVerdict(httpStatus >= 500 ? 'bank_unavailable' : 'invalid_response', code);
  if (code.service !== asked.service || code.httpStatus !== httpStatus) return noVerdict('invalid_response', code);
  if (READ_FIELDS.some((name) => otherOf(reply, name) !== undefined)) return noVerdict('invalid_response', code);
  const account = textOf(reply, 'beneficiaryAccountNo');
  const bank = textOf(reply, 'beneficiaryBankCode');
  const echoed = textOf(reply, 'partnerReferenceNo') ?? '';
  const named = account === undefined || account === asked.accountNumber;
  const sameBank = bank === undefined || asked.bankCode === null || bank === asked.bankCode;
  const sameQuestion = echoed === '' || reference === null || echoed === reference;
  if (!named || !sameBank || !sameQuestion) return noVerdict('invalid_response', code);

  const meaning = `${code.httpStatus} ${code.case}`;
  const special = `${code.service} ${meaning}`;
  const said = ownProperty(rules.codes, special) ?? VERDICTS.get(meaning);
  if (said !== undefined) {
    return isAccountStatus(said)
      ? { kind: 'verdict', verdict: { status: said }, railCode: code.text }
      : noVerdict(said, code);
  }
  if (meaning !== SUCCESSFUL) return noVerdict(reasonForResponseCode(code.httpStatus), code);
  if (rules.confirmation !== null && contradicts(reply, rules.confirmation)) return noVerdict('invalid_response', code);

  const name = readHolderName(textOf(reply, 'beneficiaryAccountName'), NAME_LENGTH_MAX);
  const word = textOf(reply, 'beneficiaryAccountStatus')?.trim().toLowerCase() ?? 'active';
  const status = ownProperty(ACCOUNT_STATUS_WORDS, word);
  // A success names the account: what does not repeat the number may be the answer to another question.
  if (account === undefined || status === undefined) return noVerdict('invalid_response', code);
  if (status !== 'ACTIVE') return { kind: 'verdict', verdict: { status }, railCode: code.text };
  if (name === null) return noVerdict('invalid_response', code);
  return { kind: 'verdict', verdict: { status, accountName: name }, railCode: code.text };
}

/** The field may stand in the reply itself or in its `additionalInfo`; absent, it contradicts nothing. */
function contradicts(reply: Reply, { field, value }: NonNullable<VerdictRules['confirmation']>): boolean {
  const info = otherOf(reply, 'additionalInfo');
  const inside = typeof info === 'object' && info !== null ? (info as Record<string, unknown>)[field] : undefined;
  const outside = ownProperty(reply.fields, field);
  return [inside, outside].some((said) => said !== undefined && said !== null && readText(said) !== value);
}

const noVerdict = (reason: NoVerdictReason, code: ResponseCode | null): InquiryOutcome => ({
  kind: 'no_verdict',
  reason,
  railCode: code?.text ?? null,
});
