import type { BankHistory, BankHourCount, BankStatusChange } from '../postgres/bank-hours.ts';
import { isNotSent, type NoVerdictReason } from '../rails/rail.ts';
import { bucketEndMs } from '../rails/resilience/inquiry-counts.ts';
import { HOUR_MS } from './hourly-counts.ts';

/** What a bank did in a time. */
export interface BankPeriod {
  /** Account inquiries that were sent, and have ended. */
  readonly inquiries: number;
  /** Those that the bank answered: with a verdict, or by rejecting that one account. */
  readonly answered: number;
  /**
   * Inquiries that were not sent over one of its rails, because the circuit breaker was open or a limit was reached.
   */
  readonly notSent: number;
  /** How long it was DOWN for all processes. */
  readonly downMs: number;
  /** How long verdicts and timeouts took, to a fifth; null where there was none. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** Why there were no verdicts, the most frequent first. */
  readonly reasons: readonly { readonly reason: string; readonly count: number }[];
}

export interface BankHours {
  readonly total: BankPeriod;
  /** In the order of time; only hours in which there was something. */
  readonly hours: readonly { readonly hourMs: number; readonly period: BankPeriod }[];
}

/** By BIC. */
export function readBankHours({ fromMs, toMs, counts, changes }: BankHistory): ReadonlyMap<string, BankHours> {
  const downByBank = downtimes(changes, fromMs, toMs);
  const countsByBank = Map.groupBy(counts, ({ bic }) => bic);
  const bics = new Set([...countsByBank.keys(), ...downByBank.keys()]);
  return new Map([...bics].map((bic) => [bic, hoursOf(countsByBank.get(bic) ?? [], downByBank.get(bic) ?? new Map())]));
}

function hoursOf(counts: readonly BankHourCount[], downMs: ReadonlyMap<number, number>): BankHours {
  const byHour = Map.groupBy(counts, ({ hourMs }) => hourMs);
  const hours = [...new Set([...byHour.keys(), ...downMs.keys()])].toSorted((one, other) => one - other);
  const allDownMs = [...downMs.values()].reduce((sum, ms) => sum + ms, 0);
  return {
    total: periodOf(counts, allDownMs),
    hours: hours.map((hourMs) => ({ hourMs, period: periodOf(byHour.get(hourMs) ?? [], downMs.get(hourMs) ?? 0) })),
  };
}

function periodOf(counts: readonly BankHourCount[], downMs: number): BankPeriod {
  const byOutcome = new Map<string, number>();
  const durations: number[] = [];
  for (const { outcome, count, durations: counted } of counts) {
    byOutcome.set(outcome, (byOutcome.get(outcome) ?? 0) + count);
    // An index, here and below: a week of a hundred banks has millions of these.
    for (let bucket = 0; bucket < counted.length; bucket += 1)
      durations[bucket] = (durations[bucket] ?? 0) + (counted[bucket] ?? 0);
  }
  const sum = (isCounted: (outcome: string) => boolean): number =>
    [...byOutcome].reduce((total, [outcome, count]) => total + (isCounted(outcome) ? count : 0), 0);
  const reasons = [...byOutcome].filter(([outcome]) => outcome !== 'verdict');
  return {
    inquiries: sum((outcome) => !isNotSent(outcome as NoVerdictReason)),
    answered: sum((outcome) => outcome === 'verdict' || outcome === 'rejected_by_bank'),
    notSent: sum((outcome) => isNotSent(outcome as NoVerdictReason)),
    downMs,
    p50Ms: quantile(durations, 0.5),
    p95Ms: quantile(durations, 0.95),
    reasons: reasons.map(([reason, count]) => ({ reason, count })).toSorted((one, other) => other.count - one.count),
  };
}

/** Within its bucket, a duration is taken to be as likely as any other. */
function quantile(durations: readonly number[], fraction: number): number | null {
  let total = 0;
  for (const count of durations) total += count;
  if (total === 0) return null;
  let left = fraction * total;
  for (let bucket = 0; bucket < durations.length; bucket += 1) {
    const count = durations[bucket] ?? 0;
    if (count >= left && count > 0) {
      const startMs = bucket === 0 ? 0 : bucketEndMs(bucket - 1);
      return startMs + (left / count) * (bucketEndMs(bucket) - startMs);
    }
    left -= count;
  }
  return bucketEndMs(durations.length - 1);
}

/** How long each bank was DOWN, by BIC and by the begin of the hour. */
function downtimes(
  changes: readonly BankStatusChange[],
  fromMs: number,
  toMs: number,
): ReadonlyMap<string, ReadonlyMap<number, number>> {
  const byBank = new Map<string, Map<number, number>>();
  for (const [index, { bic, status, sinceMs }] of changes.entries()) {
    if (status !== 'DOWN') continue;
    const next = changes[index + 1];
    const endMs = next?.bic === bic ? Math.min(next.sinceMs, toMs) : toMs;
    for (let startMs = Math.max(sinceMs, fromMs); startMs < endMs; ) {
      const hourMs = Math.floor(startMs / HOUR_MS) * HOUR_MS;
      const partEndMs = Math.min(hourMs + HOUR_MS, endMs);
      const hours = byBank.get(bic) ?? new Map<number, number>();
      byBank.set(bic, hours.set(hourMs, (hours.get(hourMs) ?? 0) + partEndMs - startMs));
      startMs = partEndMs;
    }
  }
  return byBank;
}
