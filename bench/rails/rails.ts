import { setTimeout as wait } from 'node:timers/promises';
import { AccountNumber } from '../../apps/server/src/domain/account.ts';
import { createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { createAccountInquiries } from '../../apps/server/src/rails/account-inquiries.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { startTimedBank } from './timed-bank.ts';

/** Inquiries come at this rate, whatever becomes of those before: clients do not wait for each other. */
const PER_SECOND = 400;
const SLOW_SHARE = 0.01;
const SLOW_MS = 2_000;

/** From 40 to 90 ms, the later the rarer: what banks that are well show. */
const ordinaryMs = (): number => 40 + 50 * Math.random() ** 3;
const sometimesSlowMs = (): number => (Math.random() < SLOW_SHARE ? SLOW_MS : ordinaryMs());
const never = (): null => null;

interface Took {
  readonly ms: number;
  readonly isVerdict: boolean;
}

/** Two promises of the rails, measured: a dead first choice, and hedging. As lines of text. */
export async function measureRails(seconds: number): Promise<string> {
  const dead = await measureDead(seconds);
  const plain = await measureSlow(seconds, false);
  const hedged = await measureSlow(seconds, true);
  return [
    `${PER_SECOND} inquiries a second for ${seconds} s; the bank answers within 40 to 90 ms`,
    '',
    `the second rail alone:              p50 ${quantile(dead.alone, 0.5)}, p99 ${quantile(dead.alone, 0.99)} ms`,
    `behind a first one that is dead:    p50 ${quantile(dead.behind, 0.5)}, p99 ${quantile(dead.behind, 0.99)} ms, ` +
      `${ratio(dead.behind, dead.alone, 0.99)} times, but for the first ${dead.first.length}, which found out ` +
      `(${quantile(dead.first, 1)} ms at most); without a verdict: ${dead.without}`,
    '',
    `1 % of answers after 2 s:           p99 ${quantile(plain.took, 0.99)}, p99.9 ${quantile(plain.took, 0.999)} ms`,
    `the same with hedging:              p99 ${quantile(hedged.took, 0.99)}, p99.9 ${quantile(hedged.took, 0.999)} ms, ` +
      `${((hedged.extra / hedged.took.length) * 100).toFixed(2)} % sent twice`,
  ].join('\n');
}

async function measureDead(seconds: number) {
  const first = await startTimedBank('first', never);
  const second = await startTimedBank('second', ordinaryMs);
  try {
    const alone = await load([second.rail], seconds, false);
    const behind = await load([first.rail, second.rail], seconds, false);
    // Whoever was on the way to the dead rail, or to its probes, waits for it; the others pass it by.
    const foundOut = behind.filter(({ ms }) => ms > 1_000);
    return {
      alone: alone.map(({ ms }) => ms),
      behind: behind.filter(({ ms }) => ms <= 1_000).map(({ ms }) => ms),
      first: foundOut.map(({ ms }) => ms),
      without: behind.filter(({ isVerdict }) => !isVerdict).length,
    };
  } finally {
    await first.close();
    await second.close();
  }
}

async function measureSlow(seconds: number, hedge: boolean): Promise<{ took: number[]; extra: number }> {
  const bank = await startTimedBank('bank', sometimesSlowMs);
  try {
    const took = await load([bank.rail], seconds, hedge);
    return { took: took.map(({ ms }) => ms), extra: bank.asked() - took.length };
  } finally {
    await bank.close();
  }
}

async function load(rails: readonly Rail[], seconds: number, hedge: boolean): Promise<Took[]> {
  const bank = createBankDirectory(bankEntries).find('BCA');
  if (bank === null) throw new Error('BCA is not in the bank directory');
  const routes = new Map([[bank.bic, { rails: null, hedge }]]);
  const inquiries = createAccountInquiries(rails, createMetrics(), { routes });
  const startedMs = performance.now();
  const running: Promise<Took>[] = [];

  async function inquire(index: number): Promise<Took> {
    const accountNumber = AccountNumber.parse(String(1_000_000_000 + index));
    if (bank === null || accountNumber === null) throw new Error('no such inquiry');
    const askedMs = performance.now();
    const { kind } = await inquiries.inquire({ bank, accountNumber });
    return { ms: performance.now() - askedMs, isVerdict: kind === 'verdict' };
  }

  while (performance.now() - startedMs < seconds * 1_000) {
    const due = ((performance.now() - startedMs) / 1_000) * PER_SECOND;
    while (running.length < due) running.push(inquire(running.length));
    await wait(2);
  }
  return Promise.all(running);
}

/** In whole milliseconds. */
function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? Number.NaN);
}

const ratio = (values: readonly number[], others: readonly number[], part: number): string =>
  (quantile(values, part) / quantile(others, part)).toFixed(2);
