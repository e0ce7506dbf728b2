import type { BankResponse } from '../answer.ts';
import { isObject, type JsonObject } from '../json.ts';
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
