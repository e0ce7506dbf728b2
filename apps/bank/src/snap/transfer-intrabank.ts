import { OWN_BIC } from '../accounts.ts';
import type { Answer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import type { BankRequest } from '../request.ts';
import { textField } from './body-fields.ts';
import { answerTransfer, type TransferOperation } from './transfer.ts';

const INTRABANK_TRANSFER: TransferOperation = {
  service: '17',
  rules: [],
  bankCodeOf: () => OWN_BIC,
  describe: (fields) => ({ transactionDate: textField(fields, 'transactionDate') }),
};

/** Intrabank transfer (SNAP BI, service 17): to an account of this bank itself. */
export function answerIntrabankTransfer(bank: Bank, request: BankRequest): Answer {
  return answerTransfer(bank, request, INTRABANK_TRANSFER);
}
