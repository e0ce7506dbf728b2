import { type AccountOutcome, findAccount } from '../accounts.ts';
import type { Answer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import { findBankName } from '../bank-names.ts';
import { type BankRequest, header } from '../request.ts';
import { type Reason, rejectionAnswer, reportAnswer, SCHEME_ID } from './answers.ts';
import type { Version } from './request-rules.ts';
import { readRequest, type VerificationRequest } from './verification-request.ts';

const XML_CONTENT_TYPE = /^application\/xml(?:\s*;\s*charset="?utf-8"?)?$/i;

const coded = (code: string): Reason => ({ kind: 'Cd', code });
const worded = (code: string): Reason => ({ kind: 'Prtry', code });

type Unverified = Exclude<AccountOutcome['kind'], 'active' | 'garbage' | 'silence' | 'too-many-requests'>;

/** The set of codes for verifications has none for closed and blocked accounts: AC04 and AC06 are the scheme's words. */
const REASONS: Readonly<Record<Unverified, Reason>> = {
  'not-found': coded('AC01'),
  inactive: worded('AC04'),
  blocked: worded('AC06'),
  unavailable: coded('DS28'),
};

const GARBAGE: Answer = {
  status: 200,
  contentType: 'text/html; charset=utf-8',
  body: '<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body>The system is busy.</body></html>\n',
};

/** Identification verification (acmt.023, acmt.024): whether an account can be paid into, and whose it is. */
export function answerVerification(bank: Bank, request: BankRequest, version: Version): Answer | 'never' {
  if (!XML_CONTENT_TYPE.test(header(request, 'content-type'))) return rejectionAnswer(415, 'not application/xml');
  const verification = readRequest(request.body, version);
  if ('location' in verification)
    return rejectionAnswer(400, 'missing, malformed, or out of place', verification.location);
  if (!(Math.abs(bank.now() - verification.createdAtMs) <= bank.settings.clockToleranceSeconds * 1000)) {
    return rejectionAnswer(400, 'not the time that it is', 'Document/IdVrfctnReq/Assgnmt/CreDtTm');
  }

  const report = (found: Reason | string): Answer => {
    const createdAt = new Date(bank.now()).toISOString();
    return reportAnswer({ version, messageId: bank.nextReferenceNo(), createdAt }, verification, found);
  };
  const refusal = refusalOf(bank, verification);
  if (refusal !== null) return report(refusal);

  const outcome = findAccount(verification.bankBic, verification.accountNo);
  if (outcome.kind === 'silence') return 'never';
  if (outcome.kind === 'garbage') return GARBAGE;
  if (outcome.kind === 'too-many-requests') return rejectionAnswer(429, 'too many requests');
  return report(outcome.kind === 'active' ? outcome.holderName : REASONS[outcome.kind]);
}

/** Why a request is not looked into. Its id is remembered last: a stranger cannot use up the partner's. */
function refusalOf(bank: Bank, verification: VerificationRequest): Reason | null {
  if (verification.assignerBic !== bank.settings.partnerId) return coded('BNOR');
  if (verification.assigneeId !== SCHEME_ID) return coded('AGNT');
  if (findBankName(verification.bankBic) === undefined) return coded('RC04');
  return bank.requestIds.claim(verification.messageId, bank.now()) ? null : coded('DUPL');
}
