import { type BankResponse, isObject, type JsonObject } from '../http.ts';
import { parseTimestamp } from '../time.ts';
import type { Amount } from '../transfers/transfer.ts';
import { reject, type ServiceCode, SNAP_CASES } from './response-codes.ts';

export type BodyFields = JsonObject;

/** The rule of SNAP BI for one text field; `pattern` must match the whole text. */
export interface FieldRule {
  readonly name: string;
  readonly mandatory: boolean;
  readonly pattern: Pick<RegExp, 'test'>;
}

/** The rejection for the first broken rule, or null. SNAP BI has no null: it counts as absent, as does ''. */
export function checkFields(
  service: ServiceCode,
  fields: BodyFields,
  rules: readonly FieldRule[],
): BankResponse | null {
  for (const { name, mandatory, pattern } of rules) {
    const value = fields[name] ?? '';
    if (value === '') {
      if (mandatory) return reject(service, SNAP_CASES.invalidMandatoryField, name);
    } else if (typeof value !== 'string' || !pattern.test(value)) {
      return reject(service, SNAP_CASES.invalidFieldFormat, name);
    }
  }
  return null;
}

/** Rejects an `additionalInfo` that is not an object; every SNAP BI body may have one. */
export function checkAdditionalInfo(service: ServiceCode, fields: BodyFields): BankResponse | null {
  const additionalInfo = fields['additionalInfo'] ?? {};
  return isObject(additionalInfo) ? null : reject(service, SNAP_CASES.invalidFieldFormat, 'additionalInfo');
}

/** The text of a field that was already checked; an empty string if it is absent. */
export function textField(fields: BodyFields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

// Rules of the fields that several operations share.

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

/** The rule of a `beneficiaryAccountNo` of `digitsMin` to `digitsMax` digits. */
export function accountNoRule(digitsMin: number, digitsMax: number): FieldRule {
  return { ...BENEFICIARY_ACCOUNT_NO, pattern: new RegExp(`^\\d{${digitsMin},${digitsMax}}$`) };
}

/** A reference that the partner or the bank assigns to a request or a transfer. */
export function referenceRule(name: string, mandatory = false): FieldRule {
  return { name, mandatory, pattern: /^.{1,64}$/su };
}

/** `transactionDate`, in the format of X-TIMESTAMP, without a limit on its distance from now. */
export function transactionDateRule(mandatory: boolean): FieldRule {
  return { name: 'transactionDate', mandatory, pattern: { test: (text) => parseTimestamp(text) !== null } };
}

const RULES: readonly FieldRule[] = [
  // SNAP BI writes rupiah with two decimals, although sen are not in use.
  { name: 'amount.value', mandatory: true, pattern: /^(?:0|[1-9]\d{0,15})\.\d{2}$/ },
  { name: 'amount.currency', mandatory: true, pattern: /^IDR$/ },
];

/** The rejection of a malformed `amount`; null if it is valid or absent. */
export function checkAmount(service: ServiceCode, fields: BodyFields): BankResponse | null {
  const amount = fields['amount'] ?? '';
  if (amount === '') return null;
  if (!isObject(amount)) return reject(service, SNAP_CASES.invalidFieldFormat, 'amount');
  return checkFields(service, { 'amount.value': amount['value'], 'amount.currency': amount['currency'] }, RULES);
}

/** `amount`, after `checkAmount` accepted it; null if it is absent. */
export function findAmount(fields: BodyFields): Amount | null {
  const amount = fields['amount'];
  return isObject(amount) ? { value: String(amount['value']), currency: String(amount['currency']) } : null;
}
