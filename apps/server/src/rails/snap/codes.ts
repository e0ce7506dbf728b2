import type { Verdict } from '../../domain/account.ts';
import type { FailureReason } from '../../domain/failure-reason.ts';
import { ownProperty } from '../../lib/own-property.ts';
import { FAILURE_REASONS_BY_CODE } from '../../snap/failure-codes.ts';
import { reasonForHttpStatus } from '../bank-reply.ts';
import type { NoVerdictReason } from '../rail.ts';
import type { NegativeStatus } from './profiles/profile.ts';
import type { ResponseCode } from './reply.ts';

/**
 * HTTP status and case code of an account inquiry to a verdict. Every other code is no verdict: a code that is not
 * known for certain to be about the account must never read as "not found".
 */
export const ACCOUNT_CODES: ReadonlyMap<string, NegativeStatus> = new Map([
  ['404 11', 'NOT_FOUND'], // invalid account
  ['403 09', 'INACTIVE'], // dormant account
  ['403 18', 'INACTIVE'], // inactive account
  ['403 05', 'BLOCKED'], // do not honor: the account's status is abnormal
  ['403 07', 'BLOCKED'], // card blocked
  ['403 16', 'BLOCKED'], // suspended
]);

/** Free text in the internal inquiry's `beneficiaryAccountStatus`, in lower case. Unknown text is no verdict. */
export const ACCOUNT_STATUS_TEXTS: Readonly<Record<string, Verdict['status']>> = {
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

/**
 * HTTP status and case code to the reason for no result. The HTTP status alone would say that the bank rejects the
 * operator. Clients choose the accounts, so a code about one of them must not count against the bank.
 */
const REASONS: ReadonlyMap<string, NoVerdictReason> = new Map([
  ['403 00', 'rejected_by_bank'], // transaction expired
  ['403 03', 'rejected_by_bank'], // suspected fraud
  ['403 06', 'bank_unavailable'], // feature not allowed at this time: cut-off
  ['403 08', 'rejected_by_bank'], // card expired
  ['404 00', 'rejected_by_bank'], // invalid transaction status
  ['404 12', 'rejected_by_bank'], // invalid virtual account: blocked, suspended or not found
  ['404 13', 'rejected_by_bank'], // invalid amount
  ['404 14', 'rejected_by_bank'], // paid bill
  ['404 18', 'rejected_by_bank'], // inconsistent request
  ['404 19', 'rejected_by_bank'], // virtual account expired
]);

/** Why a response code gives no result. Only a bank that has read the inquiry sends a response code. */
export function reasonForResponseCode({ httpStatus, meaning }: ResponseCode): NoVerdictReason {
  if (httpStatus === 400) return 'rejected_by_bank';
  return REASONS.get(meaning) ?? reasonForHttpStatus(httpStatus);
}

/**
 * HTTP status and case code of replies that look like rejections, although the money may have moved (ASPI, "response
 * code"). A transfer that is taken for failed would be ordered again, and paid twice.
 */
const PERHAPS_EXECUTED: ReadonlySet<string> = new Set([
  '404 18', // inconsistent request: counts as success for intrabank, interbank, RTGS and SKN transfers
  '409 01', // duplicate partnerReferenceNo: a transfer with this reference was already successful
]);

/** Whether a transfer may have been executed that was answered with this code. */
export const isPerhapsExecuted = ({ meaning }: ResponseCode): boolean => PERHAPS_EXECUTED.has(meaning);

/** Why a transfer failed, by the response code of its rejection. Unknown codes are REJECTED_BY_BANK. */
export const failureReasonOf = (code: ResponseCode | null): FailureReason =>
  ownProperty(FAILURE_REASONS_BY_CODE, code?.meaning ?? '') ?? 'REJECTED_BY_BANK';
