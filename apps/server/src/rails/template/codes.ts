import type { Verdict } from '../../domain/account.ts';
import { ownProperty } from '../../lib/own-property.ts';
import type { InquiryOutcome, NoVerdictReason } from '../rail.ts';

type Meaning = { readonly status: Exclude<Verdict['status'], 'ACTIVE'> } | { readonly reason: NoVerdictReason };

// Yours: the code for an account that can receive funds.
export const VERIFIED = 'A00';

// Yours: all other codes, with the document they are from. A code is a status only if it is certain about the account:
// "invalid" may be a mistake in the request, and "not available" may be a fault of the bank's.
const CODES: Readonly<Record<string, Meaning>> = {
  A03: { status: 'BLOCKED' }, // frozen
  A04: { status: 'NOT_FOUND' }, // no such account
  A10: { status: 'INACTIVE' }, // closed
  S01: { reason: 'bank_unavailable' }, // core system closed for the day
  S02: { reason: 'throttled' }, // too many requests
  S03: { reason: 'credentials_rejected' }, // the operator's contract does not cover this bank
};

/** The outcome for an account that was not verified. An unknown code is no verdict. */
export function outcomeOf(railCode: string): InquiryOutcome {
  const meaning = ownProperty(CODES, railCode);
  if (meaning === undefined) return { kind: 'no_verdict', reason: 'invalid_response', railCode };
  return 'status' in meaning
    ? { kind: 'verdict', verdict: meaning, railCode }
    : { kind: 'no_verdict', reason: meaning.reason, railCode };
}
