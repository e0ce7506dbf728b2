import { type AccountOutcome, findAccount } from '../accounts.ts';
import type { Bank, BankProfile, Operation } from '../bank.ts';
import { findBankName } from '../bank-names.ts';
import { type BankRequest, type BankResponse, header } from '../http.ts';
import { type Reason, rejectionResponse, reportResponse, SCHEME_ID } from './responses.ts';
import { readRequest, type VerificationRequest, type Version } from './verification-request.ts';

const XML_CONTENT_TYPE = /^application\/xml(?:\s*;\s*charset="?utf-8"?)?$/i;

const standardReason = (code: string): Reason => ({ kind: 'Cd', code });
const proprietaryReason = (code: string): Reason => ({ kind: 'Prtry', code });

type RejectedAccount = Exclude<AccountOutcome['kind'], 'active' | 'malformed' | 'no-response' | 'too-many-requests'>;

/**
 * The external code set for verifications has no codes for closed and blocked accounts: AC04 and AC06 are proprietary
 * codes of the scheme.
 */
const REASONS: Readonly<Record<RejectedAccount, Reason>> = {
  'not-found': standardReason('AC01'),
  inactive: proprietaryReason('AC04'),
  blocked: proprietaryReason('AC06'),
  unavailable: standardReason('DS28'),
};

const MALFORMED_RESPONSE: BankResponse = {
  status: 200,
  contentType: 'text/html; charset=utf-8',
  body: '<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body>The system is busy.</body></html>\n',
};

/** Identification verification (acmt.023, acmt.024): whether an account can receive payments, and its holder. */
function handleVerification(bank: Bank, request: BankRequest, version: Version): BankResponse | 'no-response' {
  if (!XML_CONTENT_TYPE.test(header(request, 'content-type'))) return rejectionResponse(415, 'not application/xml');
  const verification = readRequest(request.body, version);
  if ('location' in verification)
    return rejectionResponse(400, 'missing, malformed, or in the wrong position', verification.location);
  if (!(Math.abs(bank.now() - verification.createdAtMs) <= bank.settings.clockToleranceSeconds * 1000)) {
    return rejectionResponse(400, 'too far from the current time', 'Document/IdVrfctnReq/Assgnmt/CreDtTm');
  }

  const report = (result: Reason | string): BankResponse => {
    const createdAt = new Date(bank.now()).toISOString();
    return reportResponse({ version, messageId: bank.nextReferenceNo(), createdAt }, verification, result);
  };
  const rejection = rejectionReason(bank, verification);
  if (rejection !== null) return report(rejection);

  const outcome = findAccount(verification.bankBic, verification.accountNo);
  if (outcome.kind === 'no-response') return 'no-response';
  if (outcome.kind === 'malformed') return MALFORMED_RESPONSE;
  if (outcome.kind === 'too-many-requests') return rejectionResponse(429, 'too many requests');
  return report(outcome.kind === 'active' ? outcome.holderName : REASONS[outcome.kind]);
}

/** Why a request is rejected, or null. Its id is claimed last: an attacker cannot use up the partner's ids. */
function rejectionReason(bank: Bank, verification: VerificationRequest): Reason | null {
  if (verification.assignerBic !== bank.settings.partnerId) return standardReason('BNOR');
  if (verification.assigneeId !== SCHEME_ID) return standardReason('AGNT');
  if (findBankName(verification.bankBic) === undefined) return standardReason('RC04');
  return bank.requestIds.claim(verification.messageId, bank.now()) ? null : standardReason('DUPL');
}

/** The path of requests, in both versions. */
const PATH = '/v1/account-verification';

const acmt = (version: Version): BankProfile => {
  const operation: Operation = {
    handle: (bank, request) => handleVerification(bank, request, version),
    bodyTooLong: rejectionResponse(413, 'the message is longer than 16 KiB'),
  };
  return {
    findOperation: (path) => (path === PATH ? operation : undefined),
    unknownRoute: rejectionResponse(404, 'unknown path'),
  };
};

export const ACMT_03 = acmt('03');
export const ACMT_04 = acmt('04');
