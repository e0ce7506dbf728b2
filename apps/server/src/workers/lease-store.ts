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

interface Recall {
  readonly ended: Promise<void>;
  /** Those that have not given back. */
  readonly waitingFor: Set<LeaseHolder>;
  end(): void;
}

/** A lease is this part of what is left, at most: many workers together leave most of it to requests without one. */
const PART_OF_REST = 32;
const LEASE_MIN = 16;
/**
 * Until a worker that does not give back in time does so, what it holds counts as admitted, and nothing waits for it.
 * Shorter than the time for which the worker that asks waits (valkey/shared-windows.ts).
 */
const RECALL_TIMEOUT_MS = 20;

/** `windows`: those of one minute. Other limits have no leases. */
export function createLeaseStore(windows: () => SlidingWindow, recallTimeoutMs = RECALL_TIMEOUT_MS): LeaseStore {
  const heldByKey = new Map<string, HeldWindow>();
  const recalls = createRecalls(heldByKey, recallTimeoutMs);
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

interface Recalls {
  recall(keys: readonly string[]): Promise<void>;
  /** Whether a request waits for the leases of a window. */
  isWaiting(key: string): boolean;
  onGivenBack(holder: LeaseHolder, key: string): void;
  onMessage(holder: LeaseHolder): void;
}

function createRecalls(heldByKey: ReadonlyMap<string, HeldWindow>, timeoutMs: number): Recalls {
  const recalls = new Map<string, Recall>();
  /** How many recalls wait for a window, alone or together with others. */
  const waiting = new Map<string, number>();
  /** Workers that did not give back in time, until they send something. */
  const silent = new WeakSet<LeaseHolder>();

  function recallOne(key: string): Promise<void> {
    const running = recalls.get(key);
    if (running !== undefined) return running.ended;
    const holders = [...(heldByKey.get(key)?.byHolder.keys() ?? [])].filter((holder) => !silent.has(holder));
    if (holders.length === 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const recall: Recall = {
      ended: promise,
      waitingFor: new Set(holders),
      end() {
        clearTimeout(timer);
        if (recalls.get(key) === recall) recalls.delete(key);
        resolve();
      },
    };
    const giveUp = (): void => {
      for (const holder of recall.waitingFor) silent.add(holder);
      recall.end();
    };
    // A parent that was busy for longer than that first reads what came meanwhile (as valkey/in-time.ts).
    const timer = setTimeout(() => setImmediate(giveUp), timeoutMs);
    recalls.set(key, recall);
    for (const holder of holders) holder.recall(key);
    return promise;
  }

  function count(keys: readonly string[], by: number): void {
    for (const key of keys) {
      const waits = (waiting.get(key) ?? 0) + by;
      if (waits === 0) waiting.delete(key);
      else waiting.set(key, waits);
    }
  }

  return {
    async recall(keys) {
      count(keys, 1);
      await Promise.all(keys.map(recallOne));
      // What waits runs before the next message is read.
      count(keys, -1);
    },
    isWaiting: (key) => waiting.has(key),
    onGivenBack(holder, key) {
      const recall = recalls.get(key);
      if (recall?.waitingFor.delete(holder) === true && recall.waitingFor.size === 0) recall.end();
    },
    onMessage: (holder) => void silent.delete(holder),
  };
}

const pairsOf = (numbers: readonly number[]): [ageMs: number, count: number][] =>
  Array.from({ length: numbers.length / 2 }, (_each, index) => [
    numbers[index * 2] as number,
    numbers[index * 2 + 1] as number,
  ]);
