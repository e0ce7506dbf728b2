import { type AccountOutcome, findAccount } from '../accounts.ts';
import type { BankResponse } from '../answer.ts';
import type { Bank } from '../bank.ts';
import { parseObject } from '../json.ts';
import type { BankRequest } from '../request.ts';
import { type BodyFields, checkAdditionalInfo, checkFields, type FieldRule, textField } from './body-fields.ts';
import { checkTransaction } from './request-checks.ts';
import { reject, SNAP_CASES, succeed } from './response-codes.ts';
import type { SnapRules } from './rules/rules.ts';

/** What tells one account inquiry from the other. */
export interface AccountInquiry {
  readonly service: '15' | '16';
  /** Rules for the fields that only this inquiry has. */
  readonly rules: readonly FieldRule[];
  readonly accountNo: FieldRule;
  /** Checks `additionalInfo`, and what it says of the other fields. */
  readonly checkInfo: (fields: BodyFields) => BankResponse | null;
  /** Clearing code or BIC of the bank that is asked about; null when this bank does not know it. */
  readonly bankCodeOf: (fields: BodyFields) => string | null;
  /** The fields that this inquiry adds for an active account. */
  readonly describe: (fields: BodyFields) => object;
}

const MALFORMED_RESPONSE: BankResponse = {
  status: 200,
  contentType: 'text/html; charset=utf-8',
  body: '<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body>Sistem sedang sibuk.</body></html>\n',
};

export function handleInquiry(
  bank: Bank,
  rules: SnapRules,
  request: BankRequest,
  inquiry: AccountInquiry,
): BankResponse | 'no-response' {
  const { service, accountNo: accountNoRule } = inquiry;
  const rejection = checkTransaction(bank, rules, service, request);
  if (rejection !== null) return rejection;
  const fields = parseObject(request.body);
  if (fields === null) return reject(service, SNAP_CASES.badRequest);
  const fieldRejection =
    checkFields(service, fields, inquiry.rules) ??
    checkFields(service, fields, [accountNoRule, rules.partnerReferenceNo]) ??
    checkAdditionalInfo(service, fields) ??
    inquiry.checkInfo(fields);
  if (fieldRejection !== null) return fieldRejection;

  const accountNo = textField(fields, accountNoRule.name);
  const bankCode = inquiry.bankCodeOf(fields);
  if (bankCode === null) return reject(service, SNAP_CASES.badRequest);
  const outcome: AccountOutcome = findAccount(bankCode, accountNo);
  if (outcome.kind === 'no-response') return 'no-response';
  if (outcome.kind === 'malformed') return MALFORMED_RESPONSE;
  if (outcome.kind !== 'active') return reject(service, rules.rejections[service][outcome.kind]);
  return succeed(service, {
    referenceNo: bank.nextReferenceNo(),
    // JSON leaves out what is undefined: the bank echoes a reference only when it got one.
    partnerReferenceNo: textField(fields, 'partnerReferenceNo') || undefined,
    beneficiaryAccountName: outcome.holderName,
    beneficiaryAccountNo: accountNo,
    ...inquiry.describe(fields),
    currency: 'IDR',
  });
}
