import type { AccountOutcome } from '../accounts.ts';
import type { Answer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import type { BankRequest } from '../request.ts';
import {
  type BodyFields,
  checkAdditionalInfo,
  checkFields,
  type FieldRule,
  parseBody,
  textField,
} from './body-fields.ts';
import { BENEFICIARY_ACCOUNT_NO, referenceRule } from './field-rules.ts';
import { checkTransaction } from './request-checks.ts';
import { refuse, type ServiceCode, SNAP_CASES, type SnapCase, succeed } from './response-codes.ts';

/** What tells one account inquiry from the other. */
export interface AccountInquiry {
  readonly service: ServiceCode;
  /** Rules for the fields that only this inquiry has. */
  readonly rules: readonly FieldRule[];
  readonly find: (accountNo: string, fields: BodyFields) => AccountOutcome;
  /** The fields that this inquiry adds for an active account. */
  readonly describe: (fields: BodyFields) => object;
}

const COMMON_RULES: readonly FieldRule[] = [BENEFICIARY_ACCOUNT_NO, referenceRule('partnerReferenceNo')];

type Refused = Exclude<AccountOutcome['kind'], 'active' | 'garbage' | 'silence'>;

const REFUSALS: Readonly<Record<Refused, SnapCase>> = {
  'not-found': SNAP_CASES.invalidAccount,
  inactive: SNAP_CASES.inactiveAccount,
  blocked: SNAP_CASES.doNotHonor,
  unavailable: SNAP_CASES.externalServerError,
  'too-many-requests': SNAP_CASES.tooManyRequests,
};

const GARBAGE: Answer = {
  status: 200,
  contentType: 'text/html; charset=utf-8',
  body: '<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body>Sistem sedang sibuk.</body></html>\n',
};

export function answerInquiry(bank: Bank, request: BankRequest, inquiry: AccountInquiry): Answer | 'never' {
  const { service } = inquiry;
  const refusal = checkTransaction(bank, service, request);
  if (refusal !== null) return refusal;
  const fields = parseBody(request.body);
  if (fields === null) return refuse(service, SNAP_CASES.badRequest);
  const fault =
    checkFields(service, fields, inquiry.rules) ??
    checkFields(service, fields, COMMON_RULES) ??
    checkAdditionalInfo(service, fields);
  if (fault !== null) return fault;

  const accountNo = textField(fields, 'beneficiaryAccountNo');
  const outcome = inquiry.find(accountNo, fields);
  if (outcome.kind === 'silence') return 'never';
  if (outcome.kind === 'garbage') return GARBAGE;
  if (outcome.kind !== 'active') return refuse(service, REFUSALS[outcome.kind]);
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
