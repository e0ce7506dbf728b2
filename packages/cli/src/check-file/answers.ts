import type { AccountValidationResult } from '../../../client/src/index.ts';
import type { Results } from './check-accounts.ts';
import type { CheckedRow } from './read-rows.ts';

/**
 * What a row means for who pays: `valid` can be paid; `invalid` cannot; of `unknown` there is no verdict, which says
 * nothing about the account; `rejected` was not checked, because the row must be corrected.
 */
export const RESULTS = ['valid', 'invalid', 'unknown', 'rejected'] as const;
export type RowResult = (typeof RESULTS)[number];

/** The answer of one row of the file. */
export interface RowAnswer
  extends Pick<AccountValidationResult, 'status' | 'account_name' | 'name_match' | 'message'>,
    Pick<CheckedRow, 'warning'> {
  readonly result: RowResult;
  readonly error_code: string | null;
  readonly checked_at: string | null;
}

const NOTHING = { status: null, account_name: null, name_match: null, error_code: null, checked_at: null } as const;
const CANCELLED = 'The validation was cancelled before this account was checked: check it again';

export function answerOf({ account, rowFault, warning }: CheckedRow, results: Results): RowAnswer {
  if (rowFault !== null)
    return {
      ...NOTHING,
      result: 'rejected',
      error_code: rowFault.code,
      message: `The row ${rowFault.message}`,
      warning,
    };
  const found = account === null ? null : (results[account] ?? null);
  if (found === null) return { ...NOTHING, result: 'unknown', message: CANCELLED, warning };
  const { status, account_name, name_match, error_code, message, checked_at } = found;
  return { result: resultOf(found), status, account_name, name_match, error_code, message, checked_at, warning };
}

function resultOf({ is_valid: isValid, error_code: code }: AccountValidationResult): RowResult {
  if (isValid !== null) return isValid ? 'valid' : 'invalid';
  return code === 'INVALID_FORMAT' || code === 'INVALID_BANK_CODE' ? 'rejected' : 'unknown';
}
