import type { Ratio } from '../ratios.ts';
import { load, PER_SECOND, quantile } from './load.ts';
import { measureOneDeath } from './one-bank-dies.ts';
import { ordinaryMs, startTimedBank } from './timed-bank.ts';

const SLOW_SHARE = 0.01;
const SLOW_MS = 2_000;
/** The rounds of the last part are shorter by so much. */
const ROUND_PARTS = 5;

const sometimesSlowMs = (): number => (Math.random() < SLOW_SHARE ? SLOW_MS : ordinaryMs());
const never = (): null => null;

export interface RailsMeasured {
  /** Lines of text. */
  readonly text: string;
  readonly ratios: readonly Ratio[];
}

export interface RailsSizes {
  readonly seconds: number;
  /** Of the last part, which compares what is close to each other. */
  readonly rounds: number;
}

/** Three promises of the rails, measured: a dead first choice, hedging, and a dying bank among others. */
export async function measureRails({ seconds, rounds }: RailsSizes): Promise<RailsMeasured> {
  const dead = await measureDead(seconds);
  const plain = await measureSlow(seconds, false);
  const hedged = await measureSlow(seconds, true);
  const roundSeconds = seconds / ROUND_PARTS;
  const dying = await measureOneDeath(roundSeconds, rounds);
  const text = [
    `${PER_SECOND} inquiries a second for ${seconds} s; the bank answers within 40 to 90 ms`,
    '',
    `the second rail alone:              p50 ${ms(dead.alone, 0.5)}, p99 ${ms(dead.alone, 0.99)} ms`,
    `behind a first one that is dead:    p50 ${ms(dead.behind, 0.5)}, p99 ${ms(dead.behind, 0.99)} ms, ` +
      `${ratio(dead.behind, dead.alone, 0.99)} times, but for the first ${dead.first.length}, which found out ` +
      `(${ms(dead.first, 1)} ms at most); without a verdict: ${dead.without}`,
    '',
    `1 % of answers after 2 s:           p99 ${ms(plain.took, 0.99)}, p99.9 ${ms(plain.took, 0.999)} ms`,
    `the same with hedging:              p99 ${ms(hedged.took, 0.99)}, p99.9 ${ms(hedged.took, 0.999)} ms, ` +
      `${((hedged.extra / hedged.took.length) * 100).toFixed(2)} % sent twice`,
    '',
    `one of five banks behind a switch:  p99 of the others ${Math.round(dying.p99Ms)} ms while it is well, ` +
      `medians over ${rounds} × ${roundSeconds} s; without a verdict: ${dying.without}`,
  ].join('\n');
  return { text, ratios: dying.ratios };
}

async function measureDead(seconds: number) {
  const first = await startTimedBank('first', never);
  const second = await startTimedBank('second', ordinaryMs);
  try {
    const alone = await load({ rails: [second.rail], seconds });
    const behind = await load({ rails: [first.rail, second.rail], seconds });
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
    const took = await load({ rails: [bank.rail], seconds, hedge });
    return { took: took.map(({ ms }) => ms), extra: bank.asked() - took.length };
  } finally {
    await bank.close();
  }
}

const ms = (values: readonly number[], part: number): number => Math.round(quantile(values, part));

const ratio = (values: readonly number[], others: readonly number[], part: number): string =>
  (quantile(values, part) / quantile(others, part)).toFixed(2);
