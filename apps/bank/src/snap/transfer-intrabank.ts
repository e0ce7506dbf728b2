import { OWN_BIC } from '../accounts.ts';
import type { BankResponse } from '../answer.ts';
import type { Bank } from '../bank.ts';
import type { BankRequest } from '../request.ts';
import { textField } from './body-fields.ts';
import type { SnapRules } from './rules/rules.ts';
import { handleTransfer } from './transfer.ts';

/** Intrabank transfer (SNAP BI, service 17): to an account of this bank itself. */
export function handleIntrabankTransfer(bank: Bank, rules: SnapRules, request: BankRequest): BankResponse {
  return handleTransfer(bank, rules, request, {
    service: '17',
    rules: [],
    bankCodeOf: () => rules.ownBic ?? OWN_BIC,
    describe: (fields) => ({ transactionDate: textField(fields, 'transactionDate') }),
  });
}
