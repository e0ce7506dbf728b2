/** How long banks have taken lately, as far as this process has heard: what tells a client when to ask again. */
export interface ProcessingTimes {
  record(bankName: string, durationMs: number): void;
  /** When asking again makes sense, for a transaction of this bank that is in PROCESS since `createdAt` (ISO 8601). */
  pollAfterSeconds(bankName: string, createdAt: string): number;
  /** Within which half of the latest were through, and 95 of 100; null when too few are known. */
  usual(bankName: string): { readonly p50Ms: number; readonly p95Ms: number } | null;
}

/** Of each bank the latest so many; old ones say little about today. */
const KEPT = 100;
/** Fewer say nothing yet. */
const TELLING = 5;
/** The service document's own example of an interval (section 8). */
const UNKNOWN_SECONDS = 10;
const SECONDS_MAX = 300;
/** Names come from the feed, and memory shall not grow with a mistake in it. */
const BANKS_MAX = 1_000;

interface Bank {
  readonly latest: number[];
  /** When half of them were through and when nine of ten were; reckoned anew when it is next asked for. */
  askAgainAtMs: readonly number[] | null;
}

export function createProcessingTimes(): ProcessingTimes {
  const banks = new Map<string, Bank>();
  return {
    record(bankName, durationMs) {
      let bank = banks.get(bankName);
      if (bank === undefined) {
        if (banks.size >= BANKS_MAX) return;
        banks.set(bankName, (bank = { latest: [], askAgainAtMs: null }));
      }
      bank.latest.push(durationMs);
      if (bank.latest.length > KEPT) bank.latest.shift();
      bank.askAgainAtMs = null;
    },
    pollAfterSeconds(bankName, createdAt) {
      const bank = banks.get(bankName);
      if (bank === undefined || bank.latest.length < TELLING) return UNKNOWN_SECONDS;
      const ageMs = Date.now() - Date.parse(createdAt);
      bank.askAgainAtMs ??= quantiles(bank.latest, [0.5, 0.9]);
      // After that ever more rarely.
      const next = bank.askAgainAtMs.find((durationMs) => durationMs > ageMs) ?? ageMs * 1.5;
      return Math.min(Math.max(1, Math.ceil((next - ageMs) / 1000)), SECONDS_MAX);
    },
    usual(bankName) {
      const latest = banks.get(bankName)?.latest ?? [];
      if (latest.length < TELLING) return null;
      const [p50Ms = 0, p95Ms = 0] = quantiles(latest, [0.5, 0.95]);
      return { p50Ms, p95Ms };
    },
  };
}

function quantiles(latest: readonly number[], shares: readonly number[]): number[] {
  const sorted = latest.toSorted((one, other) => one - other);
  return shares.map((share) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
}
