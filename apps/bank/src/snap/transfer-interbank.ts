import type { Answer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import type { BankRequest } from '../request.ts';
import { type BodyFields, textField } from './body-fields.ts';
import { BANK_CODE } from './field-rules.ts';
import { answerTransfer, type TransferOperation } from './transfer.ts';

const INTERBANK_TRANSFER: TransferOperation = {
  service: '18',
  rules: [{ name: 'beneficiaryAccountName', mandatory: true, pattern: /^.{1,100}$/su }, BANK_CODE],
  bankCodeOf,
  describe: (fields) => ({ beneficiaryBankCode: bankCodeOf(fields) }),
};

/** Interbank transfer (SNAP BI, service 18): to an account of any bank, through this one. */
export function answerInterbankTransfer(bank: Bank, request: BankRequest): Answer {
  return answerTransfer(bank, request, INTERBANK_TRANSFER);
}

function bankCodeOf(fields: BodyFields): string {
  return textField(fields, BANK_CODE.name);
}
