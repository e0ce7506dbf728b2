import { isUtf8 } from 'node:buffer';
import type { Answer } from '../answer.ts';
import { refuse, type ServiceCode, SNAP_CASES } from './response-codes.ts';

export type BodyFields = Readonly<Record<string, unknown>>;

/** What SNAP BI asks of one text field; `pattern` judges its whole text. */
export interface FieldRule {
  readonly name: string;
  readonly mandatory: boolean;
  readonly pattern: Pick<RegExp, 'test'>;
}

/** The members of a body that is a JSON object in UTF-8, or null. */
export function parseBody(body: Buffer): BodyFields | null {
  if (!isUtf8(body)) return null;
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The first rule that the fields break, as a refusal. SNAP BI knows no null: it counts as absent, as does ''. */
export function checkFields(service: ServiceCode, fields: BodyFields, rules: readonly FieldRule[]): Answer | null {
  for (const { name, mandatory, pattern } of rules) {
    const value = fields[name] ?? '';
    if (value === '') {
      if (mandatory) return refuse(service, SNAP_CASES.invalidMandatoryField, name);
    } else if (typeof value !== 'string' || !pattern.test(value)) {
      return refuse(service, SNAP_CASES.invalidFieldFormat, name);
    }
  }
  return null;
}

/** `additionalInfo`, which every SNAP BI body may carry, is an object whatever is in it. */
export function checkAdditionalInfo(service: ServiceCode, fields: BodyFields): Answer | null {
  const additionalInfo = fields['additionalInfo'] ?? {};
  return isObject(additionalInfo) ? null : refuse(service, SNAP_CASES.invalidFieldFormat, 'additionalInfo');
}

/** A field that its rule has let pass; an empty string if it is absent. */
export function textField(fields: BodyFields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

export function isObject(value: unknown): value is BodyFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
