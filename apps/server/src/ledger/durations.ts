/** How long banks have taken lately, as far as this process has heard: what tells a client when to ask again. */
export interface Durations {
  heard(bankName: string, durationMs: number): void;
  /** When asking again makes sense, for a transaction of this bank that has been in PROCESS for `ageMs`. */
  askAgainSeconds(bankName: string, ageMs: number): number;
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

export function createDurations(): Durations {
  const banks = new Map<string, number[]>();
  return {
    heard(bankName, durationMs) {
      let kept = banks.get(bankName);
      if (kept === undefined) {
        if (banks.size >= BANKS_MAX) return;
        banks.set(bankName, (kept = []));
      }
      kept.push(durationMs);
      if (kept.length > KEPT) kept.shift();
    },
    askAgainSeconds(bankName, ageMs) {
      const kept = banks.get(bankName);
      if (kept === undefined || kept.length < TELLING) return UNKNOWN_SECONDS;
      const sorted = kept.toSorted((one, other) => one - other);
      // At first when half of them were through, then when nine of ten were, then ever more rarely.
      const at = [0.5, 0.9].map((share) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
      const next = at.find((durationMs) => durationMs > ageMs) ?? ageMs * 1.5;
      return Math.min(Math.max(1, Math.ceil((next - ageMs) / 1000)), SECONDS_MAX);
    },
  };
}
