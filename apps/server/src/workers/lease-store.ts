import type { SlidingWindow } from '../rate-limit/sliding-window.ts';
import { createLeaseRecalls, type LeaseHolder } from './lease-recalls.ts';
import type { LeaseExchange, LeaseGrant } from './leases.ts';

/** What workers may admit by themselves, as their parent counts it (leases.ts). */
export interface LeaseStore {
  /** How many requests of a window workers may have admitted without having reported them. */
  held(key: string): number;
  /** Null when the worker does not ask. */
  exchange(holder: LeaseHolder, exchange: LeaseExchange): LeaseGrant | null;
  /**
   * Resolves when the leases of these windows are given back, or after 20 ms. Until what waits for it has run, no
   * worker gets a lease of them.
   */
  recall(keys: readonly string[]): Promise<void>;
  /** Counts all that a worker held as admitted now: it has ended, and does not report. */
  onExit(holder: LeaseHolder): void;
}

interface HeldWindow {
  total: number;
  readonly byHolder: Map<LeaseHolder, number>;
}

/** A lease is this part of what is left, at most: many workers together leave most of it to requests without one. */
const PART_OF_REST = 32;
const LEASE_MIN = 16;

/** `windows`: those of one minute. Other limits have no leases. */
export function createLeaseStore(windows: () => SlidingWindow, recallTimeoutMs?: number): LeaseStore {
  const heldByKey = new Map<string, HeldWindow>();
  const holdersOf = (key: string): LeaseHolder[] => [...(heldByKey.get(key)?.byHolder.keys() ?? [])];
  const recalls = createLeaseRecalls(holdersOf, recallTimeoutMs);
  /** What they sent before they ended may arrive afterwards. It is counted already. */
  const ended = new WeakSet<LeaseHolder>();

  const held = (key: string): number => heldByKey.get(key)?.total ?? 0;

  function change(holder: LeaseHolder, key: string, by: number): void {
    const window = heldByKey.get(key) ?? { total: 0, byHolder: new Map<LeaseHolder, number>() };
    const own = (window.byHolder.get(holder) ?? 0) + by;
    window.total += by;
    if (own === 0) window.byHolder.delete(holder);
    else window.byHolder.set(holder, own);
    if (window.byHolder.size > 0) heldByKey.set(key, window);
    else heldByKey.delete(key);
    if (own === 0) recalls.onGivenBack(holder, key);
  }

  /** The answer to a worker: its lease is at most a part of what is left. */
  function grant(holder: LeaseHolder, { key, limit, wanted }: LeaseExchange): LeaseGrant {
    const { total, resetMs } = windows().takeSeveral(key, { limit, cost: 1, times: 0 });
    const part = Math.floor((limit - total - held(key)) / PART_OF_REST);
    const leaseMax = part < LEASE_MIN || recalls.isWaiting(key) ? 0 : part;
    const own = heldByKey.get(key)?.byHolder.get(holder) ?? 0;
    const granted = Math.max(Math.min(wanted, leaseMax - own), 0);
    if (granted > 0) change(holder, key, granted);
    return { key, limit, granted, leaseMax, total, resetMs };
  }

  return {
    held,
    exchange(holder, exchange) {
      if (ended.has(holder)) return null;
      recalls.onMessage(holder);
      const { key, returned } = exchange;
      const used = pairsOf(exchange.used);
      const admitted = used.reduce((sum, [, count]) => sum + count, 0);
      windows().restore(key, used);
      if (admitted + returned > 0) change(holder, key, -admitted - returned);
      return exchange.asks ? grant(holder, exchange) : null;
    },
    recall: recalls.recall,
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
