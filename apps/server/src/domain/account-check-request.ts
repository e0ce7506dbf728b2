import { NAME_LENGTH_MAX } from '../name-match/words.ts';
import { AccountNumber } from './account.ts';
import type { Bank, BankDirectory } from './bank.ts';
import { isPlainText } from './identifiers.ts';

/** What a client wants to know of an account, whichever way it asks. */
export interface AccountCheckRequest {
  readonly bank: Bank;
  readonly accountNumber: AccountNumber;
  /** The name to be compared with that which the bank holds; null where the client asks for no comparison. */
  readonly expectedName: string | null;
}

/** As the client sent them; nothing is coerced. */
export interface AccountCheckFields {
  readonly bankCode: unknown;
  readonly accountNumber: unknown;
  readonly expectedName: unknown;
}

/** What can be wrong with a question before a bank is asked: codes of errors. */
export const ACCOUNT_CHECK_FAULTS = ['INVALID_BANK_CODE', 'INVALID_FORMAT'] as const;

/** `message` says what to send instead. */
export interface AccountCheckFault {
  readonly code: (typeof ACCOUNT_CHECK_FAULTS)[number];
  readonly message: string;
}

export const INVALID_BANK_CODE_MESSAGE =
  'Invalid bank code: send a three-digit clearing code, a BIC or a short name as a string';

/** Which of them it was: whoever misspelt the field believes that he has sent a right code. */
function bankFault(bankCode: unknown): string {
  if (bankCode === undefined) return `${INVALID_BANK_CODE_MESSAGE}; bank_code is missing`;
  if (typeof bankCode !== 'string') return `${INVALID_BANK_CODE_MESSAGE}; bank_code is not a string`;
  return `${INVALID_BANK_CODE_MESSAGE}; no bank is known by this one: GET /api/v1/banks lists them`;
}

function accountFault(accountNumber: unknown): string {
  const fault = 'Invalid account number format: account_number must be a string of 5 to 34 digits';
  if (accountNumber === undefined) return `${fault}, and is missing`;
  return typeof accountNumber === 'string' ? fault : `${fault}, and is not a string`;
}

/** In the order of docs/contract.md 7.1: bank code, then account number. */
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
      `Invalid format: expected_account_name must be a name of 1 to ${NAME_LENGTH_MAX} characters, none of them a control character`,
    );
  }
  return { bank, accountNumber, expectedName };
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && isPlainText(value, NAME_LENGTH_MAX);

const invalidFormat = (message: string): AccountCheckFault => ({ code: 'INVALID_FORMAT', message });
