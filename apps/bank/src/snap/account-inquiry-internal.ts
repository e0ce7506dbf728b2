import { findOwnAccount } from '../accounts.ts';
import type { Answer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import type { BankRequest } from '../request.ts';
import { type AccountInquiry, answerInquiry } from './account-inquiry.ts';

const INTERNAL_INQUIRY: AccountInquiry = {
  service: '15',
  rules: [],
  find: findOwnAccount,
  // A savings account ("S").
  describe: () => ({ beneficiaryAccountStatus: 'Rekening aktif', beneficiaryAccountType: 'S' }),
};

/** Internal account inquiry (SNAP BI, service 15): an account of this bank itself. */
export function answerInternalInquiry(bank: Bank, request: BankRequest): Answer | 'never' {
  return answerInquiry(bank, request, INTERNAL_INQUIRY);
}
