import type { InquiryOutcome } from '../rails/rail.ts';

export type CachedOutcome = Extract<InquiryOutcome, { kind: 'verdict' }>;

/**
 * Recent verdicts, for clients that accept an older one. Keys include the client: a shared cache would reveal through
 * the age which accounts other clients have checked.
 */
export interface VerdictCache {
  put(key: string, outcome: CachedOutcome): void;
  /** Null when no verdict is at most `ageMaxSeconds` old. `ageSeconds` is rounded up. */
  find(key: string, ageMaxSeconds: number): { readonly outcome: CachedOutcome; readonly ageSeconds: number } | null;
}

/** Bounds the memory that clients can make the cache use. The oldest verdict is evicted first. */
const ENTRIES_MAX = 100_000;

/**
 * A cache in the memory of this process. `ttlSeconds` is the operator's limit on the age; null is returned for 0, which
 * turns the cache off. `clock` is monotonic, in milliseconds.
 */
export function createVerdictCache(
  ttlSeconds: number,
  clock: () => number = () => performance.now(),
): VerdictCache | null {
  if (ttlSeconds === 0) return null;
  const entries = new Map<string, { readonly outcome: CachedOutcome; readonly atMs: number }>();
  const isExpired = (atMs: number): boolean => clock() - atMs > ttlSeconds * 1000;

  /** Runs on `put` only. Until then `find` does not return an expired entry. */
  function evict(): void {
    for (const [key, { atMs }] of entries) {
      if (!isExpired(atMs) && entries.size < ENTRIES_MAX) return;
      entries.delete(key);
    }
  }

  return {
    put(key, outcome) {
      // Deleted and set again, so that the entry moves to the end and the map stays in the order of age.
      entries.delete(key);
      evict();
      entries.set(key, { outcome, atMs: clock() });
    },
    find(key, ageMaxSeconds) {
      const entry = entries.get(key);
      if (entry === undefined || isExpired(entry.atMs)) return null;
      const ageSeconds = Math.ceil((clock() - entry.atMs) / 1000);
      return ageSeconds <= ageMaxSeconds ? { outcome: entry.outcome, ageSeconds } : null;
    },
  };
}
