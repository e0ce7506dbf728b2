import { ownProperty } from '../../lib/own-property.ts';
import type { NoVerdictReason } from '../rail.ts';

/**
 * What a reason code says to a question about an account: that the answer is right, a verdict, or why there is none.
 *
 * Bank Indonesia's list is not public. These are the codes that public code bases agree on. U101 and U102, "tenant not
 * found" and "tenant not active", come from a mock of the hub, which says so of accounts that do not exist or are not active:
 * they are the only words for it that anybody has shown. No code for a blocked account is known.
 */
type EnquiryMeaning = 'accepted' | 'NOT_FOUND' | 'INACTIVE' | NoVerdictReason;

const ENQUIRY_MEANINGS: Readonly<Record<string, EnquiryMeaning>> = {
  U000: 'accepted',
  U002: 'accepted', // by somebody who stands in for the bank
  U101: 'NOT_FOUND', // from a mock
  U102: 'INACTIVE', // from a mock
  U110: 'rejected_by_bank', // payment not accepted
  U111: 'credentials_rejected', // the amount of the question is too small
  U112: 'credentials_rejected', // the amount of the question is too large
  U124: 'credentials_rejected', // bank code not found
  U128: 'credentials_rejected', // outbound bank not active: that is us
  U129: 'bank_unavailable', // payee's bank
  U149: 'credentials_rejected', // duplicate
  U155: 'rejected_by_bank', // fraud
  U156: 'rejected_by_bank', // sanctions
  U157: 'rejected_by_bank', // money laundering
  U900: 'timeout', // inside the hub
  U999: 'credentials_rejected', // signature
};

/** Whole ranges: the routing of questions to banks while they wait, and faults inside the hub. */
const BANK_UNAVAILABLE = /^U(?:17|9\d)\d$/;

export function enquiryMeaning(code: string): EnquiryMeaning {
  const known = ownProperty(ENQUIRY_MEANINGS, code);
  return known ?? (BANK_UNAVAILABLE.test(code) ? 'bank_unavailable' : 'invalid_response');
}

/** Why a question came to nothing, by a code that is no answer to it. */
export function noVerdictReason(code: string): NoVerdictReason {
  const meaning = enquiryMeaning(code);
  return meaning === 'accepted' || meaning === 'NOT_FOUND' || meaning === 'INACTIVE' ? 'invalid_response' : meaning;
}
