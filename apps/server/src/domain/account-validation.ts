import { ACCOUNT_STATUSES, type AccountStatus } from './account.ts';

/**
 * Words of bulk validation.
 *
 * - validation: a job, many accounts to be checked, and the results as they come.
 * - row: one line of what the client sent. Rows with the same account share one question to the bank.
 * - result: what came of a row, a verdict or the code of an error.
 */

/** RUNNING, then for ever COMPLETED or CANCELLED. */
export const VALIDATION_STATES = ['RUNNING', 'COMPLETED', 'CANCELLED'] as const;
export type ValidationState = (typeof VALIDATION_STATES)[number];

/** What can be wrong with a row before a bank is asked. */
export const ROW_FAULTS = ['INVALID_BANK_CODE', 'INVALID_FORMAT'] as const;
export type RowFault = (typeof ROW_FAULTS)[number];

/** With SERVICE_UNAVAILABLE there is no verdict, which says nothing about the account. */
export const ROW_ERRORS = [...ROW_FAULTS, 'SERVICE_UNAVAILABLE'] as const;
export type RowError = (typeof ROW_ERRORS)[number];

export type RowResult = AccountStatus | RowError;

export const isAccountStatus = (result: RowResult): result is AccountStatus =>
  (ACCOUNT_STATUSES as readonly string[]).includes(result);

const VALIDATION_ID = /^av_[0-9a-f]{20}$/;

export const isValidationId = (text: string): boolean => VALIDATION_ID.test(text);
