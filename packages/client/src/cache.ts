import type { WithResponse } from './call.ts';
import type { Clock } from './clock.ts';

/** Answers that need not be fetched again. Bounded: the one that was used longest ago is dropped first. */
export interface AnswerCache<T> {
  /** An answer that is at most this old, or null. */
  find(key: string, ageMsMax?: number): WithResponse<T> | null;
  /** Keeps an answer for this long; its age may already be above 0. */
  keep(key: string, answer: WithResponse<T>, times?: { readonly ageMs: number; readonly keptMs: number }): void;
  forget(key: string): void;
}

export function createAnswerCache<T>(clock: Clock, entriesMax: number): AnswerCache<T> {
  interface Kept {
    readonly answer: WithResponse<T>;
    readonly bornMs: number;
    readonly endsMs: number;
  }
  const entries = new Map<string, Kept>();
  return {
    find(key, ageMsMax = Infinity) {
      const entry = entries.get(key);
      if (entry === undefined) return null;
      const nowMs = clock.now();
      entries.delete(key);
      if (nowMs >= entry.endsMs) return null;
      entries.set(key, entry);
      return nowMs - entry.bornMs <= ageMsMax ? entry.answer : null;
    },
    keep(key, answer, { ageMs, keptMs } = { ageMs: 0, keptMs: Infinity }) {
      const nowMs = clock.now();
      entries.delete(key);
      entries.set(key, { answer, bornMs: nowMs - ageMs, endsMs: nowMs - ageMs + keptMs });
      for (const oldest of entries.keys()) {
        if (entries.size <= entriesMax) break;
        entries.delete(oldest);
      }
    },
    forget: (key) => void entries.delete(key),
  };
}
