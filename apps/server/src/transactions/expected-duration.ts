import type { OverdueAfter } from '../config.ts';
import type { BankDirectory } from '../domain/bank.ts';
import { StartError } from '../lib/start-error.ts';

const MINUTE_MS = 60_000;

/** How long each bank is expected to take, whichever of its codes a transaction names it by. */
export function createExpectedDuration(
  { minutes, minutesOfBanks }: OverdueAfter,
  banks: BankDirectory,
): (bankCode: string) => number {
  const ownMs = new Map(
    [...minutesOfBanks].map(([code, own]) => {
      const bank = banks.find(code);
      if (bank === null) throw new StartError(`TIBA_OVERDUE_MINUTES: ${code} is not in the bank directory`);
      return [bank.bic, own * MINUTE_MS];
    }),
  );
  if (ownMs.size === 0) return () => minutes * MINUTE_MS;
  return (bankCode) => ownMs.get(banks.find(bankCode)?.bic ?? '') ?? minutes * MINUTE_MS;
}
