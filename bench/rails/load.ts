import { setTimeout as wait } from 'node:timers/promises';
import { AccountNumber } from '../../apps/server/src/domain/account.ts';
import { type Bank, createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { createAccountInquiries } from '../../apps/server/src/rails/account-inquiries.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';

/** Inquiries start at this rate, whether or not earlier ones have ended: clients do not wait for each other. */
export const PER_SECOND = 400;

export interface TimedInquiry {
  readonly bic: string;
  readonly ms: number;
  readonly isVerdict: boolean;
}

export interface Load {
  readonly rails: readonly Rail[];
  readonly seconds: number;
  readonly hedge?: boolean;
  /** The banks that are inquired, in turn. */
  readonly bics?: readonly string[];
}

/** Inquires about accounts that are all different, with new circuit breakers. */
export async function load({ rails, seconds, hedge = false, bics = ['CENAIDJA'] }: Load): Promise<TimedInquiry[]> {
  const banks = bics.map(bankOf);
  const routes = new Map(bics.map((bic) => [bic, { rails: null, hedge }]));
  const inquiries = createAccountInquiries(rails, createMetrics(), { routes });
  const startedMs = performance.now();
  const running: Promise<TimedInquiry>[] = [];

  async function inquire(index: number): Promise<TimedInquiry> {
    const bank = banks[index % banks.length];
    const accountNumber = AccountNumber.parse(String(1_000_000_000 + index));
    if (bank === undefined || accountNumber === null) throw new Error(`there is no account for inquiry ${index}`);
    const inquiryStartedMs = performance.now();
    const { kind } = await inquiries.inquire({ clientId: 'client', bank, accountNumber });
    return { bic: bank.bic, ms: performance.now() - inquiryStartedMs, isVerdict: kind === 'verdict' };
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

/** The smallest value that this share of the values does not exceed. NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}
