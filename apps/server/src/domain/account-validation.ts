import type { AccountStatus } from './account.ts';
import { ACCOUNT_CHECK_FAULTS } from './account-check-request.ts';

/**
 * Words of account validation: many accounts checked at once.
 *
 * - validation: a job, many accounts to be checked, and the results as they come.
 * - row: one line of what the client sent. Rows with the same account share one question to the bank.
 * - result: what came of a row, a verdict or the code of an error.
 */

/** RUNNING, then for ever COMPLETED or CANCELLED. */
export const VALIDATION_STATES = ['RUNNING', 'COMPLETED', 'CANCELLED'] as const;
export type ValidationState = (typeof VALIDATION_STATES)[number];

/** With SERVICE_UNAVAILABLE there is no verdict, which says nothing about the account. */
export const ROW_ERRORS = [...ACCOUNT_CHECK_FAULTS, 'SERVICE_UNAVAILABLE'] as const;

export type RowResult = AccountStatus | (typeof ROW_ERRORS)[number];

const VALIDATION_ID = /^av_[0-9a-f]{20}$/;

export const isValidationId = (text: string): boolean => VALIDATION_ID.test(text);
