import { isAccountStatus } from '../../domain/account.ts';
import type { BankDirectory } from '../../domain/bank.ts';
import type { NameMatch } from '../../name-match/name-match.ts';
import type { ValidationResult } from '../../postgres/account-validation-results.ts';

/** One result as its client sees it, in the order of the fields. */
export interface ResultJson {
  readonly sequence: number;
  readonly row: number;
  readonly reference: string | null;
  readonly bank_code: string | null;
  readonly bank_name: string | null;
  readonly account_number: string | null;
  readonly expected_account_name: string | null;
  readonly account_name: string | null;
  readonly is_valid: boolean | null;
  readonly status: string | null;
  readonly name_match: NameMatch | null;
  readonly error_code: string | null;
  readonly message: string | null;
  readonly checked_at: string;
}

/** `match` compares the name that is expected with the one that is held. */
export function resultToJson(
  found: ValidationResult,
  banks: BankDirectory,
  match: (expected: string, held: string | null) => NameMatch,
): ResultJson {
  const { result, expectedAccountName: expected, accountName } = found;
  const status = isAccountStatus(result) ? result : null;
  return {
    sequence: found.sequence,
    row: found.rowNumber,
    reference: found.reference,
    bank_code: found.bankCode,
    bank_name: found.bic === null ? null : (banks.find(found.bic)?.name ?? null),
    account_number: found.accountNumber,
    expected_account_name: expected,
    account_name: accountName,
    is_valid: status === null ? null : status === 'ACTIVE',
    status,
    name_match: expected === null || status === null ? null : match(expected, accountName),
    error_code: status === null ? result : null,
    message: found.message,
    checked_at: found.checkedAt,
  };
}
