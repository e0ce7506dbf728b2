import { keyOf } from '../domain/identifiers.ts';
import type { CachedOutcome, CachedVerdict, SharedVerdicts } from './shared-verdicts.ts';

/**
 * Recent verdicts, for clients that accept an older one. Each client has its own: a shared cache would reveal through
 * the age which accounts other clients have checked.
 */
export interface VerdictCache {
  put(clientId: string, accountHash: string, outcome: CachedOutcome): void;
  /**
   * Null when no verdict is at most `ageMaxSeconds` old. A verdict in this process's memory comes at once; one of
   * another process is a promise.
   */
  find(
    clientId: string,
    accountHash: string,
    ageMaxSeconds: number,
  ): CachedVerdict | null | Promise<CachedVerdict | null>;
}

/** Bounds the memory that clients can make the cache use. The oldest verdict is evicted first. */
const ENTRIES_MAX = 100_000;

export interface VerdictCacheOptions {
  /** The operator's limit on the age; 0 turns the cache off. */
  readonly ttlSeconds: number;
  /** The verdicts of all processes; null where each has its own only. */
  readonly shared?: SharedVerdicts | null;
  /** Monotonic, in milliseconds. */
  readonly clock?: () => number;
}

/** A cache in the memory of this process, and behind it the shared one. Null when it is turned off. */
export function createVerdictCache(options: VerdictCacheOptions): VerdictCache | null {
  const { ttlSeconds, shared = null, clock = () => performance.now() } = options;
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

  function findOwn(key: string, ageMaxSeconds: number): CachedVerdict | null {
    const entry = entries.get(key);
    if (entry === undefined || isExpired(entry.atMs)) return null;
    const ageSeconds = Math.ceil((clock() - entry.atMs) / 1000);
    return ageSeconds <= ageMaxSeconds ? { outcome: entry.outcome, ageSeconds } : null;
  }

  return {
    put(clientId, accountHash, outcome) {
      const key = keyOf(clientId, accountHash);
      // Deleted and set again, so that the entry moves to the end and the map stays in the order of age.
      entries.delete(key);
      evict();
      entries.set(key, { outcome, atMs: clock() });
      if (shared?.isPresent() === true) shared.put(clientId, accountHash, outcome);
    },
    find(clientId, accountHash, ageMaxSeconds) {
      const own = findOwn(keyOf(clientId, accountHash), ageMaxSeconds);
      if (own !== null || shared?.isPresent() !== true) return own;
      return shared.find(clientId, accountHash).then((found) => {
        const isFresh = found !== null && found.ageSeconds <= Math.min(ageMaxSeconds, ttlSeconds);
        return isFresh ? found : null;
      });
    },
  };
}
