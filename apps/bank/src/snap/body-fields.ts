import { type BankResponse, isObject, type JsonObject } from '../http.ts';
import { parseTimestamp } from '../time.ts';
import type { Amount } from '../transfers/transfer.ts';
import { reject, type ServiceCode, SNAP_CASES } from './response-codes.ts';

export type BodyFields = JsonObject;

/** What SNAP BI asks of one text field; `pattern` judges its whole text. */
export interface FieldRule {
  readonly name: string;
  readonly mandatory: boolean;
  readonly pattern: Pick<RegExp, 'test'>;
}

/** The first rule that the fields break, as a refusal. SNAP BI knows no null: it counts as absent, as does ''. */
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

/** `additionalInfo`, which every SNAP BI body may carry, is an object whatever is in it. */
export function checkAdditionalInfo(service: ServiceCode, fields: BodyFields): BankResponse | null {
  const additionalInfo = fields['additionalInfo'] ?? {};
  return isObject(additionalInfo) ? null : reject(service, SNAP_CASES.invalidFieldFormat, 'additionalInfo');
}

/** A field that its rule has let pass; an empty string if it is absent. */
export function textField(fields: BodyFields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

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

const RULES: readonly FieldRule[] = [
  // SNAP BI prints rupiah with two decimals, although nobody pays in sen.
  { name: 'amount.value', mandatory: true, pattern: /^(?:0|[1-9]\d{0,15})\.\d{2}$/ },
  { name: 'amount.currency', mandatory: true, pattern: /^IDR$/ },
];

/** `amount`, if it is there, as a refusal when it has the wrong form. */
export function checkAmount(service: ServiceCode, fields: BodyFields): BankResponse | null {
  const amount = fields['amount'] ?? '';
  if (amount === '') return null;
  if (!isObject(amount)) return reject(service, SNAP_CASES.invalidFieldFormat, 'amount');
  return checkFields(service, { 'amount.value': amount['value'], 'amount.currency': amount['currency'] }, RULES);
}

/** `amount` after `checkAmount`, or null where it is absent. */
export function findAmount(fields: BodyFields): Amount | null {
  const amount = fields['amount'];
  return isObject(amount) ? { value: String(amount['value']), currency: String(amount['currency']) } : null;
}
