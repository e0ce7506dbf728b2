import type { BankResponse } from '../answer.ts';
import type { Bank } from '../bank.ts';
import { findBankName } from '../bank-names.ts';
import type { BankRequest } from '../request.ts';
import { handleInquiry } from './account-inquiry.ts';
import { additionalInfoOf, checkInquiryInfo } from './additional-info.ts';
import { type BodyFields, textField } from './body-fields.ts';
import type { SnapRules } from './rules/rules.ts';

/** External account inquiry (SNAP BI, service 16): an account of any bank, asked for through this one. */
export function handleExternalInquiry(
  bank: Bank,
  rules: SnapRules,
  request: BankRequest,
): BankResponse | 'no-response' {
  const bankCodeSent = (fields: BodyFields): string => textField(fields, rules.bankCode.name);
  const bankCodeOf = (fields: BodyFields): string | null => rules.readBankCode(bankCodeSent(fields));
  return handleInquiry(bank, rules, request, {
    service: '16',
    rules: [rules.bankCode],
    accountNo: rules.otherAccountNo,
    checkInfo: (fields) => checkInquiryInfo('16', fields, rules),
    bankCodeOf,
    describe: (fields) => ({
      beneficiaryBankCode: bankCodeSent(fields),
      beneficiaryBankName: findBankName(bankCodeOf(fields) ?? ''),
      additionalInfo: rules.info.reply(additionalInfoOf(fields)),
    }),
  });
}
