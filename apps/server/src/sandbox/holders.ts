import { AccountNumber, accountNameOf } from '../domain/account.ts';
import type { BankDirectory } from '../domain/bank.ts';
import type { Rail } from '../rails/rail.ts';

/**
 * Whose an account is, as the simulated bank has it: it invents holders from numbers, and a transaction to somebody else
 * would contradict its own check-account. Null where the bank names nobody.
 */
export type FindHolder = (bankCode: string, accountNumber: string) => Promise<string | null>;

/** For accounts of which the bank says nothing, ever. */
const ASK_TIMEOUT_MS = 1_000;

export function askForHolders(rail: Rail, banks: BankDirectory): FindHolder {
  return async (bankCode, digits) => {
    const bank = banks.find(bankCode);
    const accountNumber = AccountNumber.parse(digits);
    if (bank === null || accountNumber === null) return null;
    const outcome = await rail.inquireAccount({ bank, accountNumber }, AbortSignal.timeout(ASK_TIMEOUT_MS));
    return outcome.kind === 'verdict' ? accountNameOf(outcome.verdict) : null;
  };
}
