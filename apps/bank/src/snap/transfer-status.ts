import type { Bank } from '../bank.ts';
import { type BankRequest, type BankResponse, parseObject } from '../http.ts';
import type { Transfer } from '../transfers/transfer.ts';
import {
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
import { describeTransfer } from './transfer-description.ts';

const SERVICE = '36';

const RULES: readonly FieldRule[] = [
  referenceRule('originalPartnerReferenceNo'),
  referenceRule('originalReferenceNo'),
  { name: 'originalExternalId', mandatory: false, pattern: /^\d{1,36}$/ },
  { name: 'serviceCode', mandatory: true, pattern: /^\d{2}$/ },
  transactionDateRule(false),
];

/** Transfer status inquiry (SNAP BI, service 36). Its response code describes the inquiry, never the transfer. */
export function handleTransferStatus(bank: Bank, rules: SnapRules, request: BankRequest): BankResponse {
  const rejection = checkTransaction(bank, rules, SERVICE, request);
  if (rejection !== null) return rejection;
  const fields = parseObject(request.body);
  if (fields === null) return reject(SERVICE, SNAP_CASES.badRequest);
  const fieldRejection =
    checkFields(SERVICE, fields, rules.statusInquiry) ??
    checkFields(SERVICE, fields, RULES) ??
    checkAmount(SERVICE, fields) ??
    checkAdditionalInfo(SERVICE, fields);
  if (fieldRejection !== null) return fieldRejection;
  const partnerReferenceNo = textField(fields, 'originalPartnerReferenceNo');
  const referenceNo = textField(fields, 'originalReferenceNo');
  // SNAP BI makes both references optional, but the inquiry needs at least one.
  if (partnerReferenceNo === '' && referenceNo === '') {
    return reject(SERVICE, SNAP_CASES.invalidMandatoryField, 'originalPartnerReferenceNo');
  }

  const transfer = bank.transfers.find({ partnerReferenceNo, referenceNo });
  if (transfer === null || transfer.service !== textField(fields, 'serviceCode')) {
    return reject(SERVICE, SNAP_CASES.transactionNotFound);
  }
  if (!isAmountOf(transfer, fields)) return reject(SERVICE, SNAP_CASES.invalidAmount);
  return succeed(SERVICE, {
    ...describeTransfer(transfer, bank.transfers.statusOf(transfer)),
    serviceCode: transfer.service,
    sourceAccountNo: transfer.sourceAccountNo,
    // The reference at the switch; this bank uses one number for both.
    referenceNumber: transfer.referenceNo,
  });
}

/** Whether the inquiry has no amount, or the transfer's amount. */
function isAmountOf(transfer: Transfer, fields: BodyFields): boolean {
  const amount = findAmount(fields);
  return amount === null || amount.value === transfer.amount.value;
}
