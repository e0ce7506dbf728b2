import type { AccountStatus } from './account.ts';
import { ACCOUNT_CHECK_FAULTS } from './account-check-request.ts';

/**
 * Terms of account validations; docs/glossary.md has all of them.
 *
 * - account validation: a request to check many accounts, in bulk. Its results become available one by one.
 * - row: one account of the validation. Rows with the same account share one inquiry to the bank.
 * - result: the verdict about a row's account, or the code of an error.
 */

/** RUNNING, then COMPLETED or CANCELLED, which are final. */
export const VALIDATION_STATES = ['RUNNING', 'COMPLETED', 'CANCELLED'] as const;
export type ValidationState = (typeof VALIDATION_STATES)[number];

/**
 * SERVICE_UNAVAILABLE means that there is no verdict. It says nothing about the account. UNSUPPORTED_BANK means that no
 * rail reaches the bank.
 */
export const ROW_ERRORS = [...ACCOUNT_CHECK_FAULTS, 'UNSUPPORTED_BANK', 'SERVICE_UNAVAILABLE'] as const;

export type RowResult = AccountStatus | (typeof ROW_ERRORS)[number];

const VALIDATION_ID = /^av_[0-9a-f]{20}$/;

export const isValidationId = (text: string): boolean => VALIDATION_ID.test(text);
