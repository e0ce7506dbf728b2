import { isAccountStatus } from '../../domain/account.ts';
import { ownProperty } from '../../lib/own-property.ts';
import { readHolderName } from '../bank-reply.ts';
import type { InquiryOutcome, NoVerdictReason } from '../rail.ts';
import { fillTemplate } from './additional-info.ts';
import { ACCOUNT_CODES, ACCOUNT_STATUS_TEXTS, reasonForResponseCode } from './codes.ts';
import type { SnapService } from './exchange.ts';
import type { SnapProfile, SnapRoute } from './profiles/profile.ts';
import { filledTextOf, nonTextOf, parseReply, type Reply, type ResponseCode, readText, textOf } from './reply.ts';

/** An inquiry as it is sent. A reply must be about it. */
export interface SentAccountInquiry {
  /** The service code: `15` internal, `16` external. */
  readonly service: string;
  readonly accountNumber: string;
  /** As the bank repeats it; null where it can only mean itself, or where an alias names the account. */
  readonly bankCode: string | null;
  /** `accountNumber` is an alias: the bank may repeat it, or the account behind it. */
  readonly isAlias?: true;
}

/** `bankCodeSent` is the bank's code in the request; null in an inquiry to the bank itself. */
export interface OutgoingAccountInquiry extends SentAccountInquiry {
  readonly bankCodeSent: string | null;
}

/**
 * Account inquiry (ASPI, services 15 and 16): to the bank itself, where `route` is null, or about an account of another
 * bank. `parameters` are those of the route; throws when one is missing.
 */
export function createAccountInquiry(
  profile: SnapProfile,
  route: SnapRoute | null,
  parameters: Readonly<Record<string, string>>,
): SnapService<OutgoingAccountInquiry, InquiryOutcome> {
  const { sendsPartnerReferenceNo } = profile;
  const template = route?.additionalInfo ?? null;
  const info = template === null ? '' : `,"additionalInfo":${JSON.stringify(fillTemplate(template, parameters))}`;
  const rules: VerdictRules = { codes: profile.codes, confirmation: route?.confirmation ?? null };

  return {
    write({ bankCodeSent, accountNumber }, externalId) {
      // All values are digits and capitals: there is nothing to escape.
      const bank = bankCodeSent === null ? '' : `"beneficiaryBankCode":"${bankCodeSent}",`;
      const reference = sendsPartnerReferenceNo ? `,"partnerReferenceNo":"${externalId}"` : '';
      return `{${bank}"beneficiaryAccountNo":"${accountNumber}"${reference}${info}}`;
    },
    read: (httpStatus, body, sent, externalId) =>
      accountVerdict(httpStatus, body, sent, rules, sendsPartnerReferenceNo ? externalId : null),
  };
}

/** The rules in which the bank differs from ASPI's (profiles/profile.ts). */
export type VerdictRules = Pick<SnapProfile, 'codes'> & Pick<SnapRoute, 'confirmation'>;

const STANDARD_RULES: VerdictRules = { codes: {}, confirmation: null };

const SUCCESSFUL = '200 00';

const NAME_LENGTH_MAX = 100;

/**
 * Fields that must be text. An object in the place of one may hide relevant information, so the reply is not believed.
 */
const TEXT_FIELDS = [
  'beneficiaryAccountNo',
  'beneficiaryBankCode',
  'beneficiaryAccountName',
  'beneficiaryAccountStatus',
  'partnerReferenceNo',
] as const;

/**
 * The outcome of a reply to an account inquiry. It is believed only when it is well-formed and about the inquiry that
 * was sent. `reference` is the inquiry's `partnerReferenceNo`; null when it had none.
 */
export function accountVerdict(
  httpStatus: number,
  body: string,
  sent: SentAccountInquiry,
  rules: VerdictRules = STANDARD_RULES,
  reference: string | null = null,
): InquiryOutcome {
  const reply = parseReply(body);
  const code = reply?.responseCode ?? null;
  if (reply === null || code === null)
    return noVerdict(httpStatus >= 500 ? 'bank_unavailable' : 'invalid_response', code);
  if (code.service !== sent.service || code.httpStatus !== httpStatus) return noVerdict('invalid_response', code);
  if (TEXT_FIELDS.some((name) => nonTextOf(reply, name) !== undefined)) return noVerdict('invalid_response', code);
  const account = filledTextOf(reply, 'beneficiaryAccountNo');
  const bank = filledTextOf(reply, 'beneficiaryBankCode');
  const echoed = filledTextOf(reply, 'partnerReferenceNo');
  const isSameAccount = account === undefined || account === sent.accountNumber || sent.isAlias === true;
  const isSameBank = bank === undefined || sent.bankCode === null || bank === sent.bankCode;
  const isSameInquiry = echoed === undefined || reference === null || echoed === reference;
  if (!isSameAccount || !isSameBank || !isSameInquiry) return noVerdict('invalid_response', code);

  const outcome = outcomeOfCode(code, rules.codes);
  if (outcome !== null) return outcome;
  if (rules.confirmation !== null && contradicts(reply, rules.confirmation)) return noVerdict('invalid_response', code);

  const name = readHolderName(textOf(reply, 'beneficiaryAccountName'), NAME_LENGTH_MAX);
  const statusText = textOf(reply, 'beneficiaryAccountStatus')?.trim().toLowerCase() ?? 'active';
  const status = ownProperty(ACCOUNT_STATUS_TEXTS, statusText);
  // A success repeats the account number. Without it, the reply may be to another inquiry.
  if (account === undefined || status === undefined) return noVerdict('invalid_response', code);
  // Where the bank answers with the account behind an alias, only the reference tells that it is that of this inquiry.
  const isIdentified = account === sent.accountNumber || (echoed !== undefined && reference !== null);
  if (!isIdentified) return noVerdict('invalid_response', code);
  if (status !== 'ACTIVE') return { kind: 'verdict', verdict: { status }, railCode: code.text };
  if (name === null) return noVerdict('invalid_response', code);
  return { kind: 'verdict', verdict: { status, accountName: name }, railCode: code.text };
}

/** What the response code alone says; null for a success. */
export function outcomeOfCode(code: ResponseCode, codes: SnapProfile['codes']): InquiryOutcome | null {
  const { meaning } = code;
  const known = ownProperty(codes, `${code.service} ${meaning}`) ?? ACCOUNT_CODES.get(meaning);
  if (known === undefined) return meaning === SUCCESSFUL ? null : noVerdict(reasonForResponseCode(code), code);
  return isAccountStatus(known)
    ? { kind: 'verdict', verdict: { status: known }, railCode: code.text }
    : noVerdict(known, code);
}

/** The field may be in the reply itself or in its `additionalInfo`. When it is absent, it contradicts nothing. */
function contradicts(reply: Reply, { field, value }: NonNullable<VerdictRules['confirmation']>): boolean {
  const info = nonTextOf(reply, 'additionalInfo');
  const inner = typeof info === 'object' && info !== null ? (info as Record<string, unknown>)[field] : undefined;
  const outer = ownProperty(reply.fields, field);
  return [inner, outer].some((given) => given !== undefined && given !== null && readText(given) !== value);
}

export const noVerdict = (reason: NoVerdictReason, code: ResponseCode | null): InquiryOutcome => ({
  kind: 'no_verdict',
  reason,
  railCode: code?.text ?? null,
});
