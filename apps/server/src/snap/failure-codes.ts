import type { FailureReason } from '../domain/failure-reason.ts';

/**
 * HTTP status and case code of a rejected transfer (ASPI, "response code") to the published reason. 404 02, "invalid
 * routing", is missing because BCA uses it for an exceeded limit too; 404 18 and 409 01, because they may be the codes
 * of a transfer that was executed.
 */
export const FAILURE_REASONS_BY_CODE: Readonly<Record<string, FailureReason>> = {
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
  '429 00': 'ACTIVITY_LIMIT_EXCEEDED', // too many requests
  '500 00': 'BANK_UNAVAILABLE',
  '500 01': 'BANK_UNAVAILABLE',
  '500 02': 'BANK_UNAVAILABLE', // external server error
  '504 00': 'BANK_UNAVAILABLE', // timeout from the issuer
};

/**
 * The code that says the same to a client: of several, the one that tells it most. Null where SNAP has none, because a
 * code with another meaning would be believed.
 */
export const CODES_BY_FAILURE_REASON: Readonly<Record<FailureReason, string | null>> = {
  ACCOUNT_NOT_FOUND: '404 11',
  ACCOUNT_INACTIVE: '403 18',
  ACCOUNT_DORMANT: '403 09',
  ACCOUNT_BLOCKED: '403 05',
  NAME_MISMATCH: null,
  AMOUNT_LIMIT_EXCEEDED: '403 02',
  ACTIVITY_LIMIT_EXCEEDED: '403 04',
  INSUFFICIENT_FUNDS: '403 14',
  SUSPECTED_FRAUD: '403 03',
  BANK_UNAVAILABLE: '500 02',
  BANK_NOT_SUPPORTED: '404 03',
  CUT_OFF: '403 06',
  CANCELLED: '404 04',
  REFUNDED: null,
  DUPLICATE: null, // 409 01 means as well that the first transfer succeeded
  REJECTED_BY_BANK: null,
  OTHER: null,
};
