import type { BankResponse } from '../answer.ts';
import type { Bank } from '../bank.ts';
import type { BankRequest } from '../request.ts';
import { handleInquiry } from './account-inquiry.ts';
import type { SnapRules } from './rules/rules.ts';

/** Internal account inquiry (SNAP BI, service 15): an account of this bank itself. */
export function handleInternalInquiry(
  bank: Bank,
  rules: SnapRules,
  request: BankRequest,
): BankResponse | 'no-response' {
  return handleInquiry(bank, rules, request, {
    service: '15',
    rules: [],
    accountNo: rules.ownAccountNo,
    checkInfo: () => null,
    bankCodeOf: () => rules.ownBic,
    // A savings account ("S").
    describe: () => ({ beneficiaryAccountStatus: 'Rekening aktif', beneficiaryAccountType: 'S' }),
  });
}
