import { findAccount } from '../accounts.ts';
import type { Bank } from '../bank.ts';
import { findBankName } from '../bank-names.ts';
import { type AccountInquiry, answerInquiry } from './account-inquiry.ts';
import type { Answer } from './answer.ts';
import { type BodyFields, type FieldRule, textField } from './body-fields.ts';
import type { SnapRequest } from './request.ts';

// A clearing code of three digits, or a BIC (ISO 9362) of 8 or 11 characters.
const BANK_CODE: FieldRule = {
  name: 'beneficiaryBankCode',
  mandatory: true,
  pattern: /^(?:\d{3}|[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?)$/,
};

const EXTERNAL_INQUIRY: AccountInquiry = {
  service: '16',
  rules: [BANK_CODE],
  find: (accountNo, fields) => findAccount(bankCodeOf(fields), accountNo),
  describe: (fields) => ({
    beneficiaryBankCode: bankCodeOf(fields),
    beneficiaryBankName: findBankName(bankCodeOf(fields)),
  }),
};

/** External account inquiry (SNAP BI, service 16): an account of any bank, asked for through this one. */
export function answerExternalInquiry(bank: Bank, request: SnapRequest): Answer | 'never' {
  return answerInquiry(bank, request, EXTERNAL_INQUIRY);
}

function bankCodeOf(fields: BodyFields): string {
  return textField(fields, BANK_CODE.name);
}
