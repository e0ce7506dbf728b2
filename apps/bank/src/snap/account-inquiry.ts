import { type AccountOutcome, type AliasedAccount, findAccount, findAliasedAccount } from '../accounts.ts';
import type { Bank } from '../bank.ts';
import { findBankName } from '../bank-names.ts';
import { type BankRequest, type BankResponse, isObject, parseObject } from '../http.ts';
import {
  BENEFICIARY_ACCOUNT_NO,
  type BodyFields,
  checkAdditionalInfo,
  checkFields,
  type FieldRule,
  textField,
} from './body-fields.ts';
import { checkTransaction } from './request-checks.ts';
import { reject, type ServiceCode, SNAP_CASES, succeed } from './response-codes.ts';
import type { SnapRules } from './rules/rules.ts';

/** What differs between the internal and the external account inquiry. */
interface AccountInquiry {
  readonly service: '15' | '16';
  /** Rules of the fields that only this inquiry has. */
  readonly rules: readonly FieldRule[];
  readonly accountNo: (fields: BodyFields) => FieldRule;
  /** Whether the account number is an alias of BI-FAST. */
  readonly isByAlias: (fields: BodyFields) => boolean;
  /** Checks `additionalInfo` and the fields whose rules depend on it. */
  readonly checkInfo: (fields: BodyFields) => BankResponse | null;
  /** Clearing code or BIC of the beneficiary's bank; null when this bank does not know it. */
  readonly bankCodeOf: (fields: BodyFields) => string | null;
  /** The fields that this inquiry adds for an active account; `aliased` is the account behind an alias. */
  readonly describe: (fields: BodyFields, aliased: AliasedAccount | null) => object;
}

export const MALFORMED_RESPONSE: BankResponse = {
  status: 200,
  contentType: 'text/html; charset=utf-8',
  body: '<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body>Sistem sedang sibuk.</body></html>\n',
};

function handleInquiry(
  bank: Bank,
  rules: SnapRules,
  request: BankRequest,
  inquiry: AccountInquiry,
): BankResponse | 'no-response' {
  const { service } = inquiry;
  const rejection = checkTransaction(bank, rules, service, request);
  if (rejection !== null) return rejection;
  const fields = parseObject(request.body);
  if (fields === null) return reject(service, SNAP_CASES.badRequest);
  const accountNoRule = inquiry.accountNo(fields);
  const fieldRejection =
    checkFields(service, fields, inquiry.rules) ??
    checkFields(service, fields, [accountNoRule, rules.partnerReferenceNo]) ??
    checkAdditionalInfo(service, fields) ??
    inquiry.checkInfo(fields);
  if (fieldRejection !== null) return fieldRejection;

  const accountNo = textField(fields, accountNoRule.name);
  const bankCode = inquiry.bankCodeOf(fields);
  if (bankCode === null) return reject(service, SNAP_CASES.badRequest);
  const aliased = inquiry.isByAlias(fields) ? findAliasedAccount(accountNo) : null;
  const outcome: AccountOutcome = aliased?.outcome ?? findAccount(bankCode, accountNo);
  if (outcome.kind === 'no-response') return 'no-response';
  if (outcome.kind === 'malformed') return MALFORMED_RESPONSE;
  if (outcome.kind !== 'active') return reject(service, rules.rejections[service][outcome.kind]);
  return succeed(service, {
    referenceNo: bank.nextReferenceNo(),
    // `JSON.stringify` leaves out undefined members: the bank returns a reference only when the request had one.
    partnerReferenceNo: textField(fields, 'partnerReferenceNo') || undefined,
    beneficiaryAccountName: outcome.holderName,
    beneficiaryAccountNo: aliased?.accountNo ?? accountNo,
    ...inquiry.describe(fields, aliased),
    currency: 'IDR',
  });
}

/** Internal account inquiry (SNAP BI, service 15): an account at this bank. */
export function handleInternalInquiry(
  bank: Bank,
  rules: SnapRules,
  request: BankRequest,
): BankResponse | 'no-response' {
  return handleInquiry(bank, rules, request, {
    service: '15',
    rules: [],
    accountNo: () => rules.ownAccountNo,
    isByAlias: () => false,
    checkInfo: () => null,
    bankCodeOf: () => rules.ownBic,
    // `S` is a savings account.
    describe: () => ({ beneficiaryAccountStatus: 'Rekening aktif', beneficiaryAccountType: 'S' }),
  });
}

/** External account inquiry (SNAP BI, service 16): an account at any bank, looked up through this one. */
export function handleExternalInquiry(
  bank: Bank,
  rules: SnapRules,
  request: BankRequest,
): BankResponse | 'no-response' {
  const bankCodeSent = (fields: BodyFields): string => textField(fields, rules.bankCode.name);
  const isByAlias = (fields: BodyFields): boolean => rules.info.isByAlias?.(additionalInfoOf(fields)) === true;
  const bankCodeOf = (fields: BodyFields): string | null => rules.readBankCode(bankCodeSent(fields));
  return handleInquiry(bank, rules, request, {
    service: '16',
    rules: [rules.bankCode],
    accountNo: (fields) => (isByAlias(fields) ? ALIAS : rules.otherAccountNo),
    isByAlias,
    checkInfo: (fields) => checkInquiryInfo('16', fields, rules),
    bankCodeOf,
    describe: (fields, aliased) => ({
      beneficiaryBankCode: aliased?.bic ?? bankCodeSent(fields),
      beneficiaryBankName: findBankName(aliased?.bic ?? bankCodeOf(fields) ?? ''),
      additionalInfo: rules.info.reply(additionalInfoOf(fields)),
    }),
  });
}

/** Its form follows from `additionalInfo`. */
const ALIAS: FieldRule = { ...BENEFICIARY_ACCOUNT_NO, pattern: /^\S{1,34}$/ };

/** `additionalInfo`, or an empty object if it is absent. */
function additionalInfoOf(fields: BodyFields): BodyFields {
  const info = fields['additionalInfo'];
  return isObject(info) ? info : {};
}

/** The rejection for the first broken rule of `additionalInfo` or of the account number; null if there is none. */
function checkInquiryInfo(service: ServiceCode, fields: BodyFields, { info: rules }: SnapRules): BankResponse | null {
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

/** Replaces nested objects by their members, named with a dot (`amount.value`). */
function flatten(info: BodyFields): BodyFields {
  return Object.fromEntries(
    Object.entries(info).flatMap(([name, member]) =>
      isObject(member) ? Object.entries(member).map(([inner, value]) => [`${name}.${inner}`, value]) : [[name, member]],
    ),
  );
}
