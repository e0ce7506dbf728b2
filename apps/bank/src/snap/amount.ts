import type { BankResponse } from '../answer.ts';
import { isObject } from '../json.ts';
import type { Amount } from '../transfers/transfer.ts';
import { type BodyFields, checkFields, type FieldRule } from './body-fields.ts';
import { reject, type ServiceCode, SNAP_CASES } from './response-codes.ts';

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
