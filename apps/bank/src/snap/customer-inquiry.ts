import { findWalletAccount, isWallet } from '../accounts.ts';
import type { Bank } from '../bank.ts';
import { type BankRequest, type BankResponse, isObject, parseObject } from '../http.ts';
import { MALFORMED_RESPONSE } from './account-inquiry.ts';
import {
  checkAdditionalInfo,
  checkAmount,
  checkFields,
  type FieldRule,
  referenceRule,
  textField,
} from './body-fields.ts';
import { checkTransaction } from './request-checks.ts';
import { reject, SNAP_CASES, succeed } from './response-codes.ts';
import { REJECTIONS } from './rules/aspi.ts';
import type { SnapRules } from './rules/rules.ts';

const SERVICE = '37';

const RULES: readonly FieldRule[] = [
  referenceRule('partnerReferenceNo'),
  { name: 'customerNumber', mandatory: true, pattern: /^(?:0|62)8\d{7,11}$/ },
];

/**
 * Account inquiry of e-money (SNAP BI, service 37): a customer of an e-wallet. This bank leads to several wallets;
 * `additionalInfo.productCode` names one.
 */
export function handleCustomerInquiry(
  bank: Bank,
  rules: SnapRules,
  request: BankRequest,
): BankResponse | 'no-response' {
  const rejection = checkTransaction(bank, rules, SERVICE, request);
  if (rejection !== null) return rejection;
  const fields = parseObject(request.body);
  if (fields === null) return reject(SERVICE, SNAP_CASES.badRequest);
  const fieldRejection =
    checkFields(SERVICE, fields, RULES) ?? checkAmount(SERVICE, fields) ?? checkAdditionalInfo(SERVICE, fields);
  if (fieldRejection !== null) return fieldRejection;
  if (!isObject(fields['amount'])) return reject(SERVICE, SNAP_CASES.invalidMandatoryField, 'amount');
  const info = fields['additionalInfo'];
  const wallet = isObject(info) ? textField(info, 'productCode') : '';
  if (!isWallet(wallet)) return reject(SERVICE, SNAP_CASES.partnerNotFound);

  const customerNumber = textField(fields, 'customerNumber');
  const outcome = findWalletAccount(customerNumber);
  if (outcome.kind === 'no-response') return 'no-response';
  if (outcome.kind === 'malformed') return MALFORMED_RESPONSE;
  if (outcome.kind !== 'active') return reject(SERVICE, REJECTIONS[outcome.kind]);
  return succeed(SERVICE, {
    referenceNo: bank.nextReferenceNo(),
    partnerReferenceNo: textField(fields, 'partnerReferenceNo') || undefined,
    customerNumber,
    customerName: outcome.holderName,
    amount: fields['amount'],
    feeAmount: { value: '0.00', currency: 'IDR' },
    additionalInfo: info,
  });
}
