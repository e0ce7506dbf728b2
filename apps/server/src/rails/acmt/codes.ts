import type { Verdict } from '../../domain/account.ts';
import { ownProperty } from '../../lib/own-property.ts';
import type { InquiryOutcome, NoVerdictReason } from '../rail.ts';

/** Why an account was not verified: a code of ISO's list (`Cd`), or a code of the scheme's own (`Prtry`). */
export interface ReportReason {
  readonly kind: 'Cd' | 'Prtry';
  readonly code: string;
}

type Meaning = { readonly status: Exclude<Verdict['status'], 'ACTIVE'> } | { readonly reason: NoVerdictReason };

/**
 * ExternalVerificationReason1Code, the whole set (May 2025). A code that was added later is not understood.
 *
 * AG01 means an account that is closed, blocked, or of a kind that takes no deposits. The code does not say which, but
 * each of these accounts exists, and none can receive funds. So it is a verdict, and it is BLOCKED: the status that
 * claims no more than the code's name, that transactions on the account are forbidden.
 */
const ISO_CODES: Readonly<Record<string, Meaning>> = {
  AC01: { status: 'NOT_FOUND' }, // account number invalid or missing; it is not missing, since we sent it
  AG01: { status: 'BLOCKED' }, // transaction forbidden on this account
  DS28: { reason: 'bank_unavailable' }, // technical problems
  NR01: { reason: 'bank_unavailable' }, // cannot confirm, no reason stated
  TM01: { reason: 'bank_unavailable' }, // after the cut-off time
  NORR: { reason: 'timeout' }, // no response within the time frame
  AGNT: { reason: 'credentials_rejected' }, // agent identification incorrect
  BNOR: { reason: 'credentials_rejected' }, // not registered under this scheme
  RC03: { reason: 'credentials_rejected' }, // debtor's bank invalid or missing
  RC04: { reason: 'credentials_rejected' }, // creditor's bank invalid or missing
  FF01: { reason: 'rejected_by_bank' }, // format incomplete or invalid
  DUPL: { reason: 'credentials_rejected' }, // the same request again
  MS03: { reason: 'invalid_response' }, // reason not specified
  // About names and identities, which the inquiry does not contain.
  PI01: { reason: 'invalid_response' },
  PN01: { reason: 'invalid_response' },
  PN02: { reason: 'invalid_response' },
};

/** Codes of ExternalStatusReason1Code that the set above lacks. Schemes that need them send them in `Prtry`. */
const PROPRIETARY_CODES: Readonly<Record<string, Meaning>> = {
  AC04: { status: 'INACTIVE' }, // account closed
  AC06: { status: 'BLOCKED' }, // account blocked
  AC07: { status: 'INACTIVE' }, // creditor's account closed
};

/** The length of ISO's codes. It is too short for an account number or a name, which must not get into a log. */
const CODE_SHAPE = /^[A-Z0-9]{4}$/;

/** The outcome for an account that was not verified. Without a reason, and with an unknown one, there is no verdict. */
export function outcomeOf(reason: ReportReason | null): InquiryOutcome {
  const known = reason?.kind === 'Prtry' ? PROPRIETARY_CODES : ISO_CODES;
  const code = reason?.code ?? '';
  const meaning = ownProperty(known, code);
  const railCode = railCodeOf(reason);
  if (meaning === undefined) return { kind: 'no_verdict', reason: 'invalid_response', railCode };
  return 'status' in meaning
    ? { kind: 'verdict', verdict: meaning, railCode: railCode ?? code }
    : { kind: 'no_verdict', reason: meaning.reason, railCode };
}

/** For the log and the operator. Null for text that is no code. */
export const railCodeOf = (reason: ReportReason | null): string | null =>
  reason !== null && CODE_SHAPE.test(reason.code) ? `${reason.kind} ${reason.code}` : null;
