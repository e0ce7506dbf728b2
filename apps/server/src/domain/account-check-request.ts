import { NAME_LENGTH_MAX } from '../name-match/words.ts';
import { AccountNumber } from './account.ts';
import type { Bank, BankDirectory } from './bank.ts';
import { isPlainText } from './identifiers.ts';

/** One account to check, from check-account or from a row of an account validation. */
export interface AccountCheckRequest {
  readonly bank: Bank;
  readonly accountNumber: AccountNumber;
  /** The name to compare with the account holder's name at the bank; null if the client requests no comparison. */
  readonly expectedName: string | null;
}

/** The fields as the client sent them; nothing is coerced. */
export interface AccountCheckFields {
  readonly bankCode: unknown;
  readonly accountNumber: unknown;
  readonly expectedName: unknown;
}

/** The error codes of a request that is invalid before any inquiry to a bank. */
export const ACCOUNT_CHECK_FAULTS = ['INVALID_BANK_CODE', 'INVALID_FORMAT'] as const;

/** `message` says what is wrong and what to send instead. */
export interface AccountCheckFault {
  readonly code: (typeof ACCOUNT_CHECK_FAULTS)[number];
  readonly message: string;
}

export const INVALID_BANK_CODE_MESSAGE =
  'Invalid bank code: send a three-digit clearing code, a BIC or a short name as a string';

/** Says which fault it is: a client that misspelled the field name believes that it sent a valid code. */
function bankFault(bankCode: unknown): string {
  if (bankCode === undefined) return `${INVALID_BANK_CODE_MESSAGE}; bank_code is missing`;
  if (typeof bankCode !== 'string') return `${INVALID_BANK_CODE_MESSAGE}; bank_code is not a string`;
  return `${INVALID_BANK_CODE_MESSAGE}; no bank has this code: GET /api/v1/banks lists them`;
}

function accountFault(accountNumber: unknown): string {
  const fault = 'Invalid account number format: account_number must be a string of 5 to 34 digits';
  if (accountNumber === undefined) return `${fault}, and is missing`;
  return typeof accountNumber === 'string' ? fault : `${fault}, and is not a string`;
}

/** Validates in the order of docs/contract.md 7.2: bank code, then account number. */
export function parseAccountCheck(
  fields: AccountCheckFields,
  banks: BankDirectory,
): AccountCheckRequest | AccountCheckFault {
  const bank = typeof fields.bankCode === 'string' ? banks.find(fields.bankCode) : null;
  if (bank === null) return { code: 'INVALID_BANK_CODE', message: bankFault(fields.bankCode) };
  const accountNumber = AccountNumber.parse(fields.accountNumber);
  if (accountNumber === null) return invalidFormat(accountFault(fields.accountNumber));
  if (bank.accountNumberLength !== undefined && accountNumber.length !== bank.accountNumberLength) {
    return invalidFormat(
      `Invalid account number format: account numbers of ${bank.name} have ${bank.accountNumberLength} digits`,
    );
  }
  const { expectedName = null } = fields;
  if (expectedName !== null && !isName(expectedName)) {
    return invalidFormat(
      `Invalid format: expected_account_name must have 1 to ${NAME_LENGTH_MAX} characters and no control characters`,
    );
  }
  return { bank, accountNumber, expectedName };
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && isPlainText(value, NAME_LENGTH_MAX);

const invalidFormat = (message: string): AccountCheckFault => ({ code: 'INVALID_FORMAT', message });
