import { parseTimestamp } from '../timestamp.ts';
import type { FieldRule } from './body-fields.ts';

// Rules for the fields that several operations share.

// A clearing code of three digits, or a BIC (ISO 9362) of 8 or 11 characters.
export const BANK_CODE: FieldRule = {
  name: 'beneficiaryBankCode',
  mandatory: true,
  pattern: /^(?:\d{3}|[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?)$/,
};

export const BENEFICIARY_ACCOUNT_NO: FieldRule = {
  name: 'beneficiaryAccountNo',
  mandatory: true,
  pattern: /^\d{1,34}$/,
};

/** `beneficiaryAccountNo` of so many digits. */
export function accountNoRule(digitsMin: number, digitsMax: number): FieldRule {
  return { ...BENEFICIARY_ACCOUNT_NO, pattern: new RegExp(`^\\d{${digitsMin},${digitsMax}}$`) };
}

/** One side's name for a request or a transfer. */
export function referenceRule(name: string, mandatory = false): FieldRule {
  return { name, mandatory, pattern: /^.{1,64}$/su };
}

/** `transactionDate`, in the form of X-TIMESTAMP but at any time. */
export function transactionDateRule(mandatory: boolean): FieldRule {
  return { name: 'transactionDate', mandatory, pattern: { test: (text) => parseTimestamp(text) !== null } };
}
