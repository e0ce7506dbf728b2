import type { BankResponse } from '../answer.ts';
import type { Bank } from '../bank.ts';
import type { BankRequest } from '../request.ts';
import { type BodyFields, type FieldRule, textField } from './body-fields.ts';
import type { SnapRules } from './rules/rules.ts';
import { handleTransfer } from './transfer.ts';

const BENEFICIARY_NAME: FieldRule = { name: 'beneficiaryAccountName', mandatory: true, pattern: /^.{1,100}$/su };

/** Interbank transfer (SNAP BI, service 18): to an account of any bank, through this one. */
export function handleInterbankTransfer(bank: Bank, rules: SnapRules, request: BankRequest): BankResponse {
  const bankCodeSent = (fields: BodyFields): string => textField(fields, rules.bankCode.name);
  return handleTransfer(bank, rules, request, {
    service: '18',
    rules: [BENEFICIARY_NAME, rules.bankCode],
    bankCodeOf: bankCodeSent,
    describe: (fields) => ({ beneficiaryBankCode: bankCodeSent(fields) }),
  });
}
