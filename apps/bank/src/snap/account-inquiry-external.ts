import { findAccount } from '../accounts.ts';
import type { Answer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import { findBankName } from '../bank-names.ts';
import type { BankRequest } from '../request.ts';
import { type AccountInquiry, answerInquiry } from './account-inquiry.ts';
import { type BodyFields, textField } from './body-fields.ts';
import { BANK_CODE } from './field-rules.ts';

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
export function answerExternalInquiry(bank: Bank, request: BankRequest): Answer | 'never' {
  return answerInquiry(bank, request, EXTERNAL_INQUIRY);
}

function bankCodeOf(fields: BodyFields): string {
  return textField(fields, BANK_CODE.name);
}
