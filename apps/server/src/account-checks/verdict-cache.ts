import type { InquiryOutcome } from '../rails/rail.ts';

export type CachedOutcome = Extract<InquiryOutcome, { kind: 'verdict' }>;

/** Verdicts of a while ago, for clients that accept them. Each client's own: an age would tell what others have asked. */
export interface VerdictCache {
  keep(key: string, outcome: CachedOutcome): void;
  /** Null when there is none that is as young. `ageSeconds` is rounded up. */
  find(key: string, ageMaxSeconds: number): { readonly outcome: CachedOutcome; readonly ageSeconds: number } | null;
}

/** Memory shall not grow with whatever a client asks: the oldest goes first. */
const KEPT_MAX = 100_000;

/** In this process's memory, for as long as the operator allows; null when he allows nothing. `clock` gives milliseconds and never jumps. */
export function createVerdictCache(
  allowedSeconds: number,
  clock: () => number = () => performance.now(),
): VerdictCache | null {
  if (allowedSeconds === 0) return null;
  const kept = new Map<string, { readonly outcome: CachedOutcome; readonly atMs: number }>();
  const isOver = (atMs: number): boolean => clock() - atMs > allowedSeconds * 1000;

  /** What is too old goes when something new comes; nobody is given it meanwhile. */
  function forget(): void {
    for (const [key, { atMs }] of kept) {
      if (!isOver(atMs) && kept.size < KEPT_MAX) return;
      kept.delete(key);
    }
  }

  return {
    keep(key, outcome) {
      // Behind all others, so that the oldest stand in front.
      kept.delete(key);
      forget();
      kept.set(key, { outcome, atMs: clock() });
    },
    find(key, ageMaxSeconds) {
      const found = kept.get(key);
      if (found === undefined || isOver(found.atMs)) return null;
      const ageSeconds = Math.ceil((clock() - found.atMs) / 1000);
      return ageSeconds <= ageMaxSeconds ? { outcome: found.outcome, ageSeconds } : null;
    },
  };
}
