import { OWN_BIC } from '../accounts.ts';
import type { Answer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import type { BankRequest } from '../request.ts';
import { textField } from './body-fields.ts';
import type { SnapRules } from './rules/rules.ts';
import { answerTransfer } from './transfer.ts';

/** Intrabank transfer (SNAP BI, service 17): to an account of this bank itself. */
export function answerIntrabankTransfer(bank: Bank, rules: SnapRules, request: BankRequest): Answer {
  return answerTransfer(bank, rules, request, {
    service: '17',
    rules: [],
    bankCodeOf: () => rules.ownBic ?? OWN_BIC,
    describe: (fields) => ({ transactionDate: textField(fields, 'transactionDate') }),
  });
}
