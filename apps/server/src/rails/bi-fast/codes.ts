import { type AccountStatus, isAccountStatus } from '../../domain/account.ts';
import type { FailureReason } from '../../domain/failure-reason.ts';
import { ownProperty } from '../../lib/own-property.ts';
import type { NoVerdictReason } from '../rail.ts';

/**
 * The meaning of a reason code for an account enquiry: the enquiry was accepted, a verdict, or why there is none.
 *
 * Bank Indonesia's list is not public. These are the codes on which public code bases agree. U101 and U102, "tenant not
 * found" and "tenant not active", come from a mock of the hub, which sends them for accounts that do not exist or are
 * not active: no other source shows codes for these cases. No code for a blocked account is known.
 */
type EnquiryMeaning = 'accepted' | Exclude<AccountStatus, 'ACTIVE'> | NoVerdictReason;

const ENQUIRY_MEANINGS: Readonly<Record<string, EnquiryMeaning>> = {
  U000: 'accepted',
  U002: 'accepted', // by a stand-in for the bank
  U101: 'NOT_FOUND', // from a mock
  U102: 'INACTIVE', // from a mock
  U110: 'rejected_by_bank', // payment not accepted
  U111: 'credentials_rejected', // the amount of the enquiry is too small
  U112: 'credentials_rejected', // the amount of the enquiry is too large
  U124: 'credentials_rejected', // bank code not found
  U128: 'credentials_rejected', // outbound bank not active: the operator's own
  U129: 'bank_unavailable', // payee's bank
  U149: 'credentials_rejected', // duplicate
  U155: 'rejected_by_bank', // fraud
  U156: 'rejected_by_bank', // sanctions
  U157: 'rejected_by_bank', // money laundering
  U900: 'timeout', // inside the hub
  U999: 'credentials_rejected', // signature
};

/** Whole ranges: the routing of messages to banks, and faults inside the hub. */
const BANK_UNAVAILABLE = /^U(?:17|9\d)\d$/;

export function enquiryMeaning(code: string): EnquiryMeaning {
  const known = ownProperty(ENQUIRY_MEANINGS, code);
  return known ?? (BANK_UNAVAILABLE.test(code) ? 'bank_unavailable' : 'invalid_response');
}

/** Codes of the alias directory. U811 comes from a mock of the hub. */
const ALIAS_MEANINGS: Readonly<Record<string, EnquiryMeaning>> = {
  U804: 'NOT_FOUND', // alias not found or inactive
  U805: 'BLOCKED', // alias suspended
  U811: 'BLOCKED', // alias suspended by its bank
};

/** The meaning of a reason code for an account enquiry by alias. */
export const aliasMeaning = (code: string): EnquiryMeaning => ownProperty(ALIAS_MEANINGS, code) ?? enquiryMeaning(code);

/** Why there is no result, by a code that is no result of its own. */
export function noVerdictReason(code: string): NoVerdictReason {
  const meaning = enquiryMeaning(code);
  return meaning === 'accepted' || isAccountStatus(meaning) ? 'invalid_response' : meaning;
}

/** Codes that can only be about a payment. */
const PAYMENT_FAILURES: Readonly<Record<string, FailureReason>> = {
  U107: 'REJECTED_BY_BANK', // original payment rejected
  U110: 'REJECTED_BY_BANK', // payment not accepted
  U111: 'REJECTED_BY_BANK', // below the minimum: AMOUNT_LIMIT_EXCEEDED would make clients send even less
  U112: 'AMOUNT_LIMIT_EXCEEDED',
  U155: 'SUSPECTED_FRAUD',
  U156: 'REJECTED_BY_BANK', // sanctions: people decide whether the client may be told
  U157: 'REJECTED_BY_BANK', // money laundering: likewise
  U804: 'ACCOUNT_NOT_FOUND', // alias not found or inactive
  U805: 'ACCOUNT_BLOCKED', // alias suspended
};

/** Codes that may be about the status request as well as about the payment. */
const AMBIGUOUS_FAILURES: Readonly<Record<string, FailureReason>> = {
  U101: 'ACCOUNT_NOT_FOUND', // tenant not found: only a mock says that it is the account
  U102: 'ACCOUNT_INACTIVE', // tenant not active: likewise
  U124: 'BANK_NOT_SUPPORTED', // bank code not found
  U129: 'BANK_UNAVAILABLE', // payee's bank
};

/**
 * Codes that do not say how a payment ended. A duplicate (U149) has the id of the payment that came first, and that one
 * may have been paid. After a fault or a timeout on the way (U17x, U9xx) the money may have arrived.
 */
const INCONCLUSIVE = /^U(?:149|17\d|9\d\d|000|002)$/;

/**
 * Why a rejected payment failed; null where the rejection may be that of the status request. `ofPayment` is true when
 * the hub reports on a payment (`OrgnlMsgNmId`), and undefined when it does not say.
 */
export function failureReasonOf(code: string | undefined, ofPayment: boolean | undefined): FailureReason | null {
  if (ofPayment === false || (code !== undefined && INCONCLUSIVE.test(code))) return null;
  const certain = ownProperty(PAYMENT_FAILURES, code ?? '');
  if (certain !== undefined) return certain;
  if (ofPayment === undefined) return null;
  return ownProperty(AMBIGUOUS_FAILURES, code ?? '') ?? 'REJECTED_BY_BANK';
}
