import type { SlidingWindow } from '../rate-limit/sliding-window.ts';
import type { LeaseExchange, LeaseGrant } from './leases.ts';

/** A worker that may hold leases. */
export interface LeaseHolder {
  /** Orders it to give back what it has of a window. */
  recall(key: string): void;
}

/** What workers may admit by themselves, as their parent counts it (leases.ts). */
export interface LeaseStore {
  /** How many requests of a window workers may have admitted without having reported them. */
  held(key: string): number;
  /** Null when the worker asks for nothing. */
  exchange(holder: LeaseHolder, exchange: LeaseExchange): LeaseGrant | null;
  /** Resolves when the leases of these windows are given back, or after 20 ms. */
  recall(keys: readonly string[]): Promise<void>;
  /** Counts all that a worker held as admitted now: it has ended, and does not report. */
  onExit(holder: LeaseHolder): void;
}

interface HeldWindow {
  total: number;
  readonly byHolder: Map<LeaseHolder, number>;
}

interface Recall {
  readonly ended: Promise<void>;
  end(): void;
}

/** A lease is this part of what is left, at most: many workers together leave most of it to requests without one. */
const PART_OF_REST = 32;
const LEASE_MIN = 16;
/**
 * A worker that does not give back in time is hung. Until it does, what it holds counts as admitted. Shorter than the
 * time for which the worker that asks waits (valkey/shared-windows.ts).
 */
const RECALL_TIMEOUT_MS = 20;

/** `windows`: those of one minute. Other limits have no leases. */
export function createLeaseStore(windows: () => SlidingWindow, recallTimeoutMs = RECALL_TIMEOUT_MS): LeaseStore {
  const heldByKey = new Map<string, HeldWindow>();
  const recalls = new Map<string, Recall>();
  /** What they sent before they ended may arrive afterwards. It is counted already. */
  const ended = new WeakSet<LeaseHolder>();

  function change(holder: LeaseHolder, key: string, by: number): void {
    const window = heldByKey.get(key) ?? { total: 0, byHolder: new Map<LeaseHolder, number>() };
    const own = (window.byHolder.get(holder) ?? 0) + by;
    window.total += by;
    if (own === 0) window.byHolder.delete(holder);
    else window.byHolder.set(holder, own);
    if (window.byHolder.size > 0) {
      heldByKey.set(key, window);
      return;
    }
    heldByKey.delete(key);
    recalls.get(key)?.end();
  }

  const held = (key: string): number => heldByKey.get(key)?.total ?? 0;

  function recallOne(key: string): Promise<void> {
    const running = recalls.get(key);
    if (running !== undefined) return running.ended;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => {
      clearTimeout(timer);
      recalls.delete(key);
      resolve();
    };
    const timer = setTimeout(end, recallTimeoutMs);
    recalls.set(key, { ended: promise, end });
    for (const holder of heldByKey.get(key)?.byHolder.keys() ?? []) holder.recall(key);
    return promise;
  }

  return {
    held,
    exchange(holder, { key, limit, wanted, returned, used }) {
      if (ended.has(holder)) return null;
      const entries = pairsOf(used);
      const admitted = entries.reduce((sum, [, count]) => sum + count, 0);
      windows().restore(key, entries);
      if (admitted + returned > 0) change(holder, key, -admitted - returned);
      if (wanted === 0) return null;
      const { total, resetMs } = windows().takeSeveral(key, { limit, cost: 1, times: 0 });
      const part = Math.floor((limit - total - held(key)) / PART_OF_REST);
      const granted = part < LEASE_MIN || recalls.has(key) ? 0 : Math.min(wanted, part);
      if (granted > 0) change(holder, key, granted);
      return { key, granted, total, resetMs };
    },
    async recall(keys) {
      await Promise.all(keys.map(recallOne));
    },
    onExit(holder) {
      ended.add(holder);
      for (const [key, { byHolder }] of heldByKey) {
        const own = byHolder.get(holder) ?? 0;
        if (own === 0) continue;
        windows().record(key, own);
        change(holder, key, -own);
      }
    },
  };
}

const pairsOf = (numbers: readonly number[]): [ageMs: number, count: number][] =>
  Array.from({ length: numbers.length / 2 }, (_each, index) => [
    numbers[index * 2] as number,
    numbers[index * 2 + 1] as number,
  ]);
