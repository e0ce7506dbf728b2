import type { Ratio } from '../ratios.ts';
import { load, PER_SECOND, quantile } from './load.ts';
import { measureFaultyBank } from './one-faulty-bank.ts';
import { healthyDelayMs, startTimedBank } from './timed-bank.ts';

const SLOW_SHARE = 0.01;
const SLOW_MS = 2_000;
/** An inquiry that takes longer was sent to the failed rail. */
const DETECTION_MS = 1_000;
/** The rounds with a faulty bank are shorter than the other parts by this factor. */
const ROUND_PARTS = 5;

const sometimesSlowMs = (): number => (Math.random() < SLOW_SHARE ? SLOW_MS : healthyDelayMs());
const never = (): null => null;

export interface RailsResult {
  /** Lines of text. */
  readonly text: string;
  readonly ratios: readonly Ratio[];
}

export interface RailsSizes {
  readonly seconds: number;
  /** Of the last part, which compares figures that are close to each other. */
  readonly rounds: number;
}

/**
 * Measures three guarantees of the rails: with a failed first rail, with hedging, and with one faulty bank among
 * others.
 */
export async function measureRails({ seconds, rounds }: RailsSizes): Promise<RailsResult> {
  const failed = await measureFailedRail(seconds);
  const plain = await measureSlowResponses(seconds, false);
  const hedged = await measureSlowResponses(seconds, true);
  const roundSeconds = seconds / ROUND_PARTS;
  const faulty = await measureFaultyBank(roundSeconds, rounds);
  const text = [
    `${PER_SECOND} inquiries per second for ${seconds} s; the bank answers within 40 to 90 ms`,
    '',
    `the second rail alone:          p50 ${ms(failed.alone, 0.5)}, p99 ${ms(failed.alone, 0.99)} ms`,
    `behind a failed first rail:     p50 ${ms(failed.behind, 0.5)}, p99 ${ms(failed.behind, 0.99)} ms, ` +
      `${ratio(failed.behind, failed.alone, 0.99)} times, without the ${failed.detecting.length} inquiries ` +
      `that detected the failure (${ms(failed.detecting, 1)} ms at most); no verdict: ${failed.noVerdicts}`,
    '',
    `1 % of responses after 2 s:     p99 ${ms(plain.durationsMs, 0.99)}, p99.9 ${ms(plain.durationsMs, 0.999)} ms`,
    `the same with hedging:          p99 ${ms(hedged.durationsMs, 0.99)}, p99.9 ${ms(hedged.durationsMs, 0.999)} ms, ` +
      `${((hedged.extraInquiries / hedged.durationsMs.length) * 100).toFixed(2)} % sent twice`,
    '',
    `one of five banks at a switch:  p99 of the others ${Math.round(faulty.p99Ms)} ms while it is healthy, ` +
      `medians over ${rounds} × ${roundSeconds} s; no verdict: ${faulty.noVerdicts}`,
  ].join('\n');
  return { text, ratios: faulty.ratios };
}

async function measureFailedRail(seconds: number) {
  const first = await startTimedBank('first', never);
  const second = await startTimedBank('second', healthyDelayMs);
  try {
    const alone = await load({ rails: [second.rail], seconds });
    const behind = await load({ rails: [first.rail, second.rail], seconds });
    // Inquiries that are sent to the failed rail before its circuit breaker opens, or as its probes, wait for it. The
    // others skip it.
    const detecting = behind.filter(({ ms }) => ms > DETECTION_MS);
    return {
      alone: alone.map(({ ms }) => ms),
      behind: behind.filter(({ ms }) => ms <= DETECTION_MS).map(({ ms }) => ms),
      detecting: detecting.map(({ ms }) => ms),
      noVerdicts: behind.filter(({ isVerdict }) => !isVerdict).length,
    };
  } finally {
    await first.close();
    await second.close();
  }
}

async function measureSlowResponses(
  seconds: number,
  hedge: boolean,
): Promise<{ durationsMs: number[]; extraInquiries: number }> {
  const bank = await startTimedBank('bank', sometimesSlowMs);
  try {
    const inquiries = await load({ rails: [bank.rail], seconds, hedge });
    return { durationsMs: inquiries.map(({ ms }) => ms), extraInquiries: bank.inquiryCount() - inquiries.length };
  } finally {
    await bank.close();
  }
}

const ms = (values: readonly number[], share: number): number => Math.round(quantile(values, share));

const ratio = (values: readonly number[], others: readonly number[], share: number): string =>
  (quantile(values, share) / quantile(others, share)).toFixed(2);
