import { OWN_BIC } from '../accounts.ts';
import type { Bank } from '../bank.ts';
import { type BankRequest, type BankResponse, parseObject } from '../http.ts';
import type { TransferService } from '../transfers/transfer.ts';
import {
  BENEFICIARY_ACCOUNT_NO,
  type BodyFields,
  checkAdditionalInfo,
  checkAmount,
  checkFields,
  type FieldRule,
  findAmount,
  referenceRule,
  textField,
  transactionDateRule,
} from './body-fields.ts';
import { checkTransaction } from './request-checks.ts';
import { reject, SNAP_CASES, succeed } from './response-codes.ts';
import type { SnapRules } from './rules/rules.ts';

/** What differs between the intrabank and the interbank transfer. */
interface TransferOperation {
  readonly service: TransferService;
  /** Rules of the fields that only this service has. */
  readonly rules: readonly FieldRule[];
  readonly bankCodeOf: (fields: BodyFields) => string;
  /** The fields that this service adds to the response. */
  readonly describe: (fields: BodyFields) => object;
}

const COMMON_RULES: readonly FieldRule[] = [
  referenceRule('partnerReferenceNo', true),
  BENEFICIARY_ACCOUNT_NO,
  { name: 'sourceAccountNo', mandatory: true, pattern: /^\d{1,19}$/ },
  transactionDateRule(true),
];

/** Accepts an order, or rejects a malformed one. The status inquiry reports the outcome of the transfer. */
function handleTransfer(
  bank: Bank,
  rules: SnapRules,
  request: BankRequest,
  operation: TransferOperation,
): BankResponse {
  const { service } = operation;
  const rejection = checkTransaction(bank, rules, service, request);
  if (rejection !== null) return rejection;
  const fields = parseObject(request.body);
  if (fields === null) return reject(service, SNAP_CASES.badRequest);
  const fieldRejection =
    checkFields(service, fields, COMMON_RULES) ??
    checkFields(service, fields, operation.rules) ??
    checkAmount(service, fields) ??
    checkAdditionalInfo(service, fields);
  if (fieldRejection !== null) return fieldRejection;
  const amount = findAmount(fields);
  if (amount === null) return reject(service, SNAP_CASES.invalidMandatoryField, 'amount');
  if (Number(amount.value) === 0) return reject(service, SNAP_CASES.invalidAmount);

  const acceptance = bank.transfers.accept({
    service,
    partnerReferenceNo: textField(fields, 'partnerReferenceNo'),
    amount,
    beneficiaryAccountNo: textField(fields, 'beneficiaryAccountNo'),
    beneficiaryBankCode: operation.bankCodeOf(fields),
    sourceAccountNo: textField(fields, 'sourceAccountNo'),
    transactionDate: textField(fields, 'transactionDate'),
  });
  // Whether the repeated request has the same fields makes no difference: the first transfer remains, and no second one
  // is created.
  if (acceptance.kind === 'duplicate') return reject(service, SNAP_CASES.duplicatePartnerReferenceNo);
  if (acceptance.kind === 'not-stored') return reject(service, SNAP_CASES.generalError);
  const { transfer } = acceptance;
  return succeed(service, {
    referenceNo: transfer.referenceNo,
    partnerReferenceNo: transfer.partnerReferenceNo,
    amount: transfer.amount,
    beneficiaryAccountNo: transfer.beneficiaryAccountNo,
    sourceAccountNo: transfer.sourceAccountNo,
    ...operation.describe(fields),
  });
}

/** Intrabank transfer (SNAP BI, service 17): to an account at this bank. */
export function handleIntrabankTransfer(bank: Bank, rules: SnapRules, request: BankRequest): BankResponse {
  return handleTransfer(bank, rules, request, {
    service: '17',
    rules: [],
    bankCodeOf: () => rules.ownBic ?? OWN_BIC,
    describe: (fields) => ({ transactionDate: textField(fields, 'transactionDate') }),
  });
}

const BENEFICIARY_NAME: FieldRule = { name: 'beneficiaryAccountName', mandatory: true, pattern: /^.{1,100}$/su };

/** Interbank transfer (SNAP BI, service 18): to an account at any bank, through this one. */
export function handleInterbankTransfer(bank: Bank, rules: SnapRules, request: BankRequest): BankResponse {
  const bankCodeSent = (fields: BodyFields): string => textField(fields, rules.bankCode.name);
  return handleTransfer(bank, rules, request, {
    service: '18',
    rules: [BENEFICIARY_NAME, rules.bankCode],
    bankCodeOf: bankCodeSent,
    describe: (fields) => ({ beneficiaryBankCode: bankCodeSent(fields) }),
  });
}
