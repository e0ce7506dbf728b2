import type { OverdueAfter } from '../config/values.ts';
import type { BankDirectory } from '../domain/bank.ts';
import { StartError } from '../lib/start-error.ts';

const MINUTE_MS = 60_000;

/**
 * How long each bank is expected to take, in milliseconds, by whichever of its codes a transaction names the bank.
 * @throws StartError when a setting names a bank that is not in the directory.
 */
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

/** How long each bank took for recent transfers, as far as this process was notified. */
export interface ProcessingTimes {
  record(bankName: string, durationMs: number): void;
  /** When a client should poll again for a transaction of this bank, in PROCESS since `createdAt` (ISO 8601). */
  pollAfterSeconds(bankName: string, createdAt: string): number;
  /** Percentiles of the recent durations; null while too few are known. */
  percentiles(bankName: string): { readonly p50Ms: number; readonly p95Ms: number } | null;
}

/** Per bank, the latest ones; old durations say little about today. */
const SAMPLES_MAX = 100;
/** Fewer samples give no estimate. */
const SAMPLES_MIN = 5;
/** The example of an interval in docs/contract.md 8. */
const DEFAULT_POLL_SECONDS = 10;
const POLL_SECONDS_MAX = 300;
/** Bank names come from the feed, and a mistake there must not make memory grow without limit. */
const BANKS_MAX = 1_000;

interface BankSamples {
  readonly durationsMs: number[];
  /** The 50th and the 90th percentile; null when they have to be computed again. */
  pollAtMs: readonly number[] | null;
}

/** `now`: milliseconds since 1970, on the clock that stamps transactions. */
export function createProcessingTimes(now: () => number): ProcessingTimes {
  const banks = new Map<string, BankSamples>();
  return {
    record(bankName, durationMs) {
      let bank = banks.get(bankName);
      if (bank === undefined) {
        if (banks.size >= BANKS_MAX) return;
        banks.set(bankName, (bank = { durationsMs: [], pollAtMs: null }));
      }
      bank.durationsMs.push(durationMs);
      if (bank.durationsMs.length > SAMPLES_MAX) bank.durationsMs.shift();
      bank.pollAtMs = null;
    },
    pollAfterSeconds(bankName, createdAt) {
      const bank = banks.get(bankName);
      if (bank === undefined || bank.durationsMs.length < SAMPLES_MIN) return DEFAULT_POLL_SECONDS;
      const ageMs = now() - Date.parse(createdAt);
      bank.pollAtMs ??= quantiles(bank.durationsMs, [0.5, 0.9]);
      // Past both percentiles the interval grows with the transaction's age.
      const next = bank.pollAtMs.find((durationMs) => durationMs > ageMs) ?? ageMs * 1.5;
      return Math.min(Math.max(1, Math.ceil((next - ageMs) / 1000)), POLL_SECONDS_MAX);
    },
    percentiles(bankName) {
      const durationsMs = banks.get(bankName)?.durationsMs ?? [];
      if (durationsMs.length < SAMPLES_MIN) return null;
      const [p50Ms = 0, p95Ms = 0] = quantiles(durationsMs, [0.5, 0.95]);
      return { p50Ms, p95Ms };
    },
  };
}

function quantiles(values: readonly number[], fractions: readonly number[]): number[] {
  const sorted = values.toSorted((one, other) => one - other);
  return fractions.map((fraction) => sorted[Math.floor(fraction * (sorted.length - 1))] ?? 0);
}
