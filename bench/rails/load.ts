import { setTimeout as wait } from 'node:timers/promises';
import { AccountNumber } from '../../apps/server/src/domain/account.ts';
import { type Bank, createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { createAccountInquiries } from '../../apps/server/src/rails/account-inquiries.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';

/** Inquiries come at this rate, whatever becomes of those before: clients do not wait for each other. */
export const PER_SECOND = 400;

export interface Took {
  readonly bic: string;
  readonly ms: number;
  readonly isVerdict: boolean;
}

export interface Load {
  readonly rails: readonly Rail[];
  readonly seconds: number;
  readonly hedge?: boolean;
  /** Asked in turn. */
  readonly bics?: readonly string[];
}

/** Asks about accounts of which none comes twice, with breakers that have seen nothing yet. */
export async function load({ rails, seconds, hedge = false, bics = ['CENAIDJA'] }: Load): Promise<Took[]> {
  const banks = bics.map(bankOf);
  const routes = new Map(bics.map((bic) => [bic, { rails: null, hedge }]));
  const inquiries = createAccountInquiries(rails, createMetrics(), { routes });
  const startedMs = performance.now();
  const running: Promise<Took>[] = [];

  async function inquire(index: number): Promise<Took> {
    const bank = banks[index % banks.length];
    const accountNumber = AccountNumber.parse(String(1_000_000_000 + index));
    if (bank === undefined || accountNumber === null) throw new Error('no such inquiry');
    const askedMs = performance.now();
    const { kind } = await inquiries.inquire({ bank, accountNumber });
    return { bic: bank.bic, ms: performance.now() - askedMs, isVerdict: kind === 'verdict' };
  }

  while (performance.now() - startedMs < seconds * 1_000) {
    const due = ((performance.now() - startedMs) / 1_000) * PER_SECOND;
    while (running.length < due) running.push(inquire(running.length));
    await wait(2);
  }
  return Promise.all(running);
}

const directory = createBankDirectory(bankEntries);

function bankOf(bic: string): Bank {
  const bank = directory.find(bic);
  if (bank === null) throw new Error(`${bic} is not in the bank directory`);
  return bank;
}

/** The least value that so great a part of them does not exceed. NaN of none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? Number.NaN;
}
