import type { Verdict } from '../../domain/account.ts';
import { ownProperty } from '../../lib/own-property.ts';
import type { InquiryOutcome, NoVerdictReason } from '../rail.ts';
import type { ReportReason } from './read-report.ts';

type Meaning = { readonly status: Exclude<Verdict['status'], 'ACTIVE'> } | { readonly reason: NoVerdictReason };

/**
 * ExternalVerificationReason1Code, the whole set (May 2025). A code that came later is not understood.
 *
 * AG01 stands for accounts that are closed, blocked, or of a kind that takes no deposits. Which of them, nobody can tell; but
 * all of them exist, and none can be paid into. So there is a verdict, and it is BLOCKED: the one that claims no more
 * than that payments to the account are forbidden, which is what the code is called.
 */
const CODES: Readonly<Record<string, Meaning>> = {
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
  // About names and identities, which were not asked about.
  PI01: { reason: 'invalid_response' },
  PN01: { reason: 'invalid_response' },
  PN02: { reason: 'invalid_response' },
};

/** Codes of ExternalStatusReason1Code, which the set above lacks: schemes that need them say them in `Prtry`. */
const WORDS: Readonly<Record<string, Meaning>> = {
  AC04: { status: 'INACTIVE' }, // account closed
  AC06: { status: 'BLOCKED' }, // account blocked
  AC07: { status: 'INACTIVE' }, // creditor's account closed
};

/** As long as a code of ISO's lists: too short for an account number or a name, which must not get into a log. */
const CODE_SHAPE = /^[A-Z0-9]{4}$/;

/** What it means that an account was not verified. Without a reason, and with an unknown one, that is nothing. */
export function outcomeOf(reason: ReportReason | null): InquiryOutcome {
  const known = reason?.kind === 'Prtry' ? WORDS : CODES;
  const code = reason?.code ?? '';
  const meaning = ownProperty(known, code);
  const railCode = railCodeOf(reason);
  if (meaning === undefined) return { kind: 'no_verdict', reason: 'invalid_response', railCode };
  return 'status' in meaning
    ? { kind: 'verdict', verdict: meaning, railCode: railCode ?? code }
    : { kind: 'no_verdict', reason: meaning.reason, railCode };
}

/** For the log and the operator. Null for what may be anything. */
export const railCodeOf = (reason: ReportReason | null): string | null =>
  reason !== null && CODE_SHAPE.test(reason.code) ? `${reason.kind} ${reason.code}` : null;
