import { holderNameOf } from './holder-names.ts';

/** What an inquiry about an account comes to. */
export type AccountOutcome =
  | { readonly kind: 'active'; readonly holderName: string }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'inactive' }
  | { readonly kind: 'blocked' }
  /** The bank answers that it cannot say. */
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'too-many-requests' }
  /** Success by its HTTP status, but no JSON. */
  | { readonly kind: 'malformed' }
  /** The bank takes the request and never answers. */
  | { readonly kind: 'no-response' };

const OUTCOMES_BY_ENDING: ReadonlyMap<string, AccountOutcome> = new Map([
  ['0403', { kind: 'blocked' }],
  ['0404', { kind: 'not-found' }],
  ['0410', { kind: 'inactive' }],
  ['0429', { kind: 'too-many-requests' }],
  ['0500', { kind: 'malformed' }],
  ['0503', { kind: 'unavailable' }],
  ['0504', { kind: 'no-response' }],
]);

/** The bank that this one plays. */
export const OWN_BIC = 'CENAIDJA';
const OWN_CLEARING_CODE = '014';
// The one length that the bank publishes: BCA's accounts have exactly ten digits.
const OWN_DIGITS = 10;
const OTHER_DIGITS_MIN = 5;

/** An account of this bank itself. `accountNo` has digits only. */
function findOwnAccount(accountNo: string): AccountOutcome {
  return accountNo.length === OWN_DIGITS ? findByEnding(accountNo) : { kind: 'not-found' };
}

/** An account of any bank; `bankCode` is a three-digit clearing code or a BIC. `accountNo` has digits only. */
export function findAccount(bankCode: string, accountNo: string): AccountOutcome {
  if (bankCode === OWN_CLEARING_CODE || bankCode.startsWith(OWN_BIC)) return findOwnAccount(accountNo);
  return accountNo.length >= OTHER_DIGITS_MIN ? findByEnding(accountNo) : { kind: 'not-found' };
}

function findByEnding(accountNo: string): AccountOutcome {
  return OUTCOMES_BY_ENDING.get(accountNo.slice(-4)) ?? { kind: 'active', holderName: holderNameOf(accountNo) };
}
