import type { Answer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import { findBankName } from '../bank-names.ts';
import type { BankRequest } from '../request.ts';
import { answerInquiry } from './account-inquiry.ts';
import { checkInquiryInfo, infoOf } from './additional-info.ts';
import { type BodyFields, textField } from './body-fields.ts';
import type { SnapRules } from './rules/rules.ts';

/** External account inquiry (SNAP BI, service 16): an account of any bank, asked for through this one. */
export function answerExternalInquiry(bank: Bank, rules: SnapRules, request: BankRequest): Answer | 'never' {
  const bankCodeSent = (fields: BodyFields): string => textField(fields, rules.bankCode.name);
  const bankCodeOf = (fields: BodyFields): string | null => rules.readBankCode(bankCodeSent(fields));
  return answerInquiry(bank, rules, request, {
    service: '16',
    rules: [rules.bankCode],
    accountNo: rules.otherAccountNo,
    checkInfo: (fields) => checkInquiryInfo('16', fields, rules),
    bankCodeOf,
    describe: (fields) => ({
      beneficiaryBankCode: bankCodeSent(fields),
      beneficiaryBankName: findBankName(bankCodeOf(fields) ?? ''),
      additionalInfo: rules.info.reply(infoOf(fields)),
    }),
  });
}
