import type { Verdict } from '../../domain/account.ts';
import type { FailureReason } from '../../domain/failure-reason.ts';
import { ownProperty } from '../../lib/own-property.ts';
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

/** The reason for the HTTP status in a response code. Only a bank that has read the inquiry sends a response code. */
export const reasonForResponseCode = (httpStatus: number): NoVerdictReason =>
  httpStatus === 400 ? 'rejected_by_bank' : reasonForHttpStatus(httpStatus);

/**
 * HTTP status and case code of a rejected transfer (ASPI, "response code") to the published reason. Any other code is
 * REJECTED_BY_BANK. 404 02, "invalid routing", is missing because BCA uses it for an exceeded limit too.
 */
const FAILURE_REASONS: Readonly<Record<string, FailureReason>> = {
  '403 02': 'AMOUNT_LIMIT_EXCEEDED', // exceeds transaction amount limit
  '403 03': 'SUSPECTED_FRAUD',
  '403 04': 'ACTIVITY_LIMIT_EXCEEDED', // activity count limit exceeded
  '403 05': 'ACCOUNT_BLOCKED', // do not honor: the account's status is abnormal
  '403 06': 'CUT_OFF', // feature not allowed at this time
  '403 07': 'ACCOUNT_BLOCKED', // card blocked
  '403 09': 'ACCOUNT_DORMANT',
  '403 14': 'INSUFFICIENT_FUNDS',
  '403 16': 'ACCOUNT_BLOCKED', // suspended
  '403 18': 'ACCOUNT_INACTIVE',
  '403 20': 'AMOUNT_LIMIT_EXCEEDED', // merchant limit exceeded
  '403 23': 'AMOUNT_LIMIT_EXCEEDED', // account limit exceeded
  '404 03': 'BANK_NOT_SUPPORTED', // by the switch
  '404 04': 'CANCELLED',
  '404 09': 'BANK_NOT_SUPPORTED', // no issuer
  '404 11': 'ACCOUNT_NOT_FOUND', // invalid account
  '409 01': 'DUPLICATE', // of a partnerReferenceNo
  '429 00': 'ACTIVITY_LIMIT_EXCEEDED', // too many requests
  '500 00': 'BANK_UNAVAILABLE',
  '500 01': 'BANK_UNAVAILABLE',
  '500 02': 'BANK_UNAVAILABLE', // external server error
  '504 00': 'BANK_UNAVAILABLE', // timeout from the issuer
};

/** Why a transfer failed, by the response code of its rejection. */
export function failureReasonOf(code: ResponseCode | null): FailureReason {
  const meaning = code === null ? '' : `${code.httpStatus} ${code.case}`;
  return ownProperty(FAILURE_REASONS, meaning) ?? 'REJECTED_BY_BANK';
}
