import type { BankResponse } from '../answer.ts';
import { isObject } from '../json.ts';
import { type BodyFields, checkFields } from './body-fields.ts';
import { reject, type ServiceCode, SNAP_CASES } from './response-codes.ts';
import type { SnapRules } from './rules/rules.ts';

/** `additionalInfo`, or an empty object where there is none. */
export function additionalInfoOf(fields: BodyFields): BodyFields {
  const info = fields['additionalInfo'];
  return isObject(info) ? info : {};
}

/** The first rule that an inquiry's `additionalInfo` breaks, or that the account number breaks because of it. */
export function checkInquiryInfo(
  service: ServiceCode,
  fields: BodyFields,
  { info: rules }: SnapRules,
): BankResponse | null {
  const info = additionalInfoOf(fields);
  if (rules.mandatory && Object.keys(info).length === 0) {
    return reject(service, SNAP_CASES.invalidMandatoryField, 'additionalInfo');
  }
  const accountNo = rules.accountNo(info);
  return (
    checkFields(service, flatten(info), rules.members(info)) ??
    checkFields(service, fields, accountNo === null ? [] : [accountNo])
  );
}

/** The members of objects in it by their names with a dot. */
function flatten(info: BodyFields): BodyFields {
  return Object.fromEntries(
    Object.entries(info).flatMap(([name, member]) =>
      isObject(member) ? Object.entries(member).map(([inner, value]) => [`${name}.${inner}`, value]) : [[name, member]],
    ),
  );
}
