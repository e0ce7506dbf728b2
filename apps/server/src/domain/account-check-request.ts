import { type BilingualText, followedBy } from '../lib/bilingual-text.ts';
import { NAME_LENGTH_MAX } from '../name-match/words.ts';
import type { AccountNumber } from './account.ts';
import { type Bank, type BankDirectory, isAliasDirectory, isEWallet, parseAccountNumber } from './bank.ts';
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
  readonly message: BilingualText;
}

export const INVALID_BANK_CODE_MESSAGE: BilingualText = {
  en: 'Invalid bank code: send a three-digit clearing code, a BIC, or a short name (BCA, GOPAY) as a string',
  id: 'Kode bank tidak valid: kirim kode kliring tiga digit, BIC, atau nama singkat (BCA, GOPAY) sebagai string',
};

/** Why no bank is found by this code: a client that misspelled the field name believes that it sent a valid one. */
export function bankFault(bankCode: unknown): BilingualText {
  if (bankCode === undefined) return NO_BANK_CODE;
  return typeof bankCode === 'string' ? UNKNOWN_BANK_CODE : BANK_CODE_NOT_STRING;
}

const NO_BANK_CODE = followedBy(INVALID_BANK_CODE_MESSAGE, {
  en: '; bank_code is missing',
  id: '; bank_code tidak ada',
});
const BANK_CODE_NOT_STRING = followedBy(INVALID_BANK_CODE_MESSAGE, {
  en: '; bank_code is not a string',
  id: '; bank_code bukan string',
});
const UNKNOWN_BANK_CODE = followedBy(INVALID_BANK_CODE_MESSAGE, {
  en: '; no bank has this code: GET /api/v1/banks lists them',
  id: '; tidak ada bank dengan kode ini: lihat daftarnya di GET /api/v1/banks',
});

function accountFault(bank: Bank, accountNumber: unknown): BilingualText {
  const fault = malformedAccountNumber(bank);
  if (accountNumber === undefined)
    return followedBy(fault, { en: ', and is missing', id: '; account_number tidak ada' });
  return typeof accountNumber === 'string' ? fault : followedBy(fault, NOT_A_STRING);
}

function malformedAccountNumber(bank: Bank): BilingualText {
  if (isEWallet(bank)) return malformedMobileNumber(bank);
  return isAliasDirectory(bank) ? malformedAlias(bank) : MALFORMED_ACCOUNT_NUMBER;
}

const malformedAlias = ({ name }: Bank): BilingualText => ({
  en:
    `Invalid account number format: account_number of ${name} must be a mobile number such as 081234567890, or an ` +
    'e-mail address',
  id:
    `Format nomor rekening tidak valid: account_number ${name} harus berupa nomor ponsel seperti 081234567890, ` +
    'atau alamat surel',
});

const malformedMobileNumber = ({ name }: Bank): BilingualText => ({
  en: `Invalid account number format: account_number of ${name} must be a mobile number such as 081234567890`,
  id: `Format nomor rekening tidak valid: account_number ${name} harus berupa nomor ponsel seperti 081234567890`,
});

const MALFORMED_ACCOUNT_NUMBER: BilingualText = {
  en: 'Invalid account number format: account_number must be a string of 5 to 34 digits',
  id: 'Format nomor rekening tidak valid: account_number harus berupa string 5 sampai 34 digit',
};
const NOT_A_STRING: BilingualText = { en: ', and is not a string', id: '; yang dikirim bukan string' };

/** Validates in the order of docs/contract.md 7.2: bank code, then account number. */
export function parseAccountCheck(
  fields: AccountCheckFields,
  banks: BankDirectory,
): AccountCheckRequest | AccountCheckFault {
  const bank = typeof fields.bankCode === 'string' ? banks.find(fields.bankCode) : null;
  if (bank === null) return { code: 'INVALID_BANK_CODE', message: bankFault(fields.bankCode) };
  const accountNumber = parseAccountNumber(bank, fields.accountNumber);
  if (accountNumber === null) return invalidFormat(accountFault(bank, fields.accountNumber));
  if (bank.accountNumberLength !== undefined && accountNumber.length !== bank.accountNumberLength) {
    return invalidFormat({
      en: `Invalid account number format: account numbers of ${bank.name} have ${bank.accountNumberLength} digits`,
      id: `Format nomor rekening tidak valid: nomor rekening ${bank.name} harus ${bank.accountNumberLength} digit`,
    });
  }
  const { expectedName = null } = fields;
  if (expectedName !== null && !isName(expectedName)) {
    return invalidFormat(INVALID_NAME);
  }
  return { bank, accountNumber, expectedName };
}

const INVALID_NAME: BilingualText = {
  en: `Invalid format: expected_account_name must have 1 to ${NAME_LENGTH_MAX} characters and no control characters`,
  id:
    `Format tidak valid: expected_account_name harus terdiri dari 1 sampai ${NAME_LENGTH_MAX} karakter, ` +
    'tanpa karakter kontrol',
};

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && isPlainText(value, NAME_LENGTH_MAX);

const invalidFormat = (message: BilingualText): AccountCheckFault => ({ code: 'INVALID_FORMAT', message });
