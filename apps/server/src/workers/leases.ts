import type { Decision } from '../rate-limit/limiter.ts';
import type { LeasedWindows, Leases } from '../valkey/place.ts';

/** What a worker tells its parent about the lease of a window. */
export interface LeaseExchange {
  readonly key: string;
  readonly limit: number;
  /** Whether the parent answers. */
  readonly asks: boolean;
  /** How many more requests it asks for. */
  readonly wanted: number;
  /** How many of those that it had it gives back. */
  readonly returned: number;
  /** Those that it has admitted: how many milliseconds ago and how many, in turn, the oldest first. */
  readonly used: readonly number[];
}

/** The parent's answer. */
export interface LeaseGrant {
  readonly key: string;
  /** That of the question. */
  readonly limit: number;
  readonly granted: number;
  /** How many it may have in all: it gives back the others. With 0 it has no lease any more. */
  readonly leaseMax: number;
  /** What the window holds now. */
  readonly total: number;
  /** The time until the oldest admission leaves the window. */
  readonly resetMs: number;
}

/** The leases of a worker. */
export interface WorkerLeases extends Leases {
  /** Reports what was admitted and asks for more, as it does every 20 ms while requests come. */
  exchange(): void;
  receive(grant: LeaseGrant): void;
  /** The parent needs what this worker has of a window. */
  recall(key: string): void;
  /** Gives everything back. */
  close(): void;
}

/**
 * How often a worker reports what it has admitted, and gives back what it does not need. Within this time a worker does
 * not know of requests of the others, so it is how old `remaining` may be.
 */
const EXCHANGE_INTERVAL_MS = 20;
/** A window with fewer requests asks the parent about each: it would save too few messages. */
const TOTAL_MIN = 1_000;
/** A window that is closer to its limit asks the parent about each: leases would soon be recalled. */
const LEFT_MIN = 1_024;
/** A worker that gets fewer requests of a window between two exchanges gives its lease back. */
const DEMAND_MIN = 4;

/** For tests. */
export interface LeasesOptions {
  readonly clock?: () => number;
  readonly intervalMs?: number;
}

interface Lease {
  readonly key: string;
  readonly limit: number;
  /** How many requests this worker may still admit. */
  left: number;
  /** Those that it has admitted since it last reported. */
  used: { readonly fromMs: number; toMs: number; count: number }[];
  /** What the window holds, as far as this worker knows. */
  total: number;
  resetAtMs: number;
  /** What was asked of this worker since the last exchange. */
  demand: number;
  isAsking: boolean;
  readonly forget: () => void;
}

interface LeasesState {
  readonly send: (exchange: LeaseExchange) => void;
  readonly clock: () => number;
  readonly intervalMs: number;
  readonly leases: Map<string, Lease>;
  timer: NodeJS.Timeout | null;
}

/**
 * Lets a worker admit requests of busy windows without a message for each turn of the event loop. The parent counts a
 * lease against the limit until it is given back or its worker has ended, so the limit stays exact.
 */
export function createLeases(
  send: (exchange: LeaseExchange) => void,
  { clock = () => performance.now(), intervalMs = EXCHANGE_INTERVAL_MS }: LeasesOptions = {},
): WorkerLeases {
  const state: LeasesState = { send, clock, intervalMs, leases: new Map(), timer: null };
  return {
    open: (prefix) => openWindows(state, prefix),
    exchange: () => exchange(state),
    receive: (grant) => receive(state, grant),
    recall(key) {
      const lease = state.leases.get(key);
      if (lease !== undefined) giveBack(state, lease);
    },
    close() {
      for (const lease of state.leases.values()) giveBack(state, lease);
      stopTimer(state);
    },
  };
}

function openWindows(state: LeasesState, prefix: string): LeasedWindows {
  const byKey = new Map<string, Lease>();
  return {
    take(key, limit, cost) {
      const lease = byKey.get(key);
      if (lease === undefined) return null;
      lease.demand += cost;
      if (lease.limit === limit) return takeFrom(lease, cost, state.clock());
      giveBack(state, lease);
      return null;
    },
    observe(key, limit, total) {
      if (total < TOTAL_MIN || limit - total < LEFT_MIN || byKey.has(key)) return;
      const lease = emptyLease(prefix + key, limit, () => byKey.delete(key));
      byKey.set(key, lease);
      state.leases.set(lease.key, lease);
      state.timer ??= setInterval(() => exchange(state), state.intervalMs).unref();
    },
  };
}

function exchange(state: LeasesState): void {
  for (const lease of state.leases.values()) exchangeOne(state, lease);
  if (state.leases.size === 0) stopTimer(state);
}

function exchangeOne(state: LeasesState, lease: Lease): void {
  if (lease.isAsking) return;
  const { demand } = lease;
  lease.demand = 0;
  if (demand < DEMAND_MIN) {
    giveBack(state, lease);
    return;
  }
  // Twice as many, so that a lease seldom ends before the next exchange.
  const missing = demand * 2 - lease.left;
  const returned = Math.max(-missing, 0);
  lease.left -= returned;
  lease.isAsking = true;
  tell(state, lease, { asks: true, wanted: Math.max(missing, 0), returned });
}

function receive(state: LeasesState, { key, limit, granted, leaseMax, total, resetMs }: LeaseGrant): void {
  const lease = state.leases.get(key);
  if (lease === undefined || lease.limit !== limit) {
    if (granted > 0) state.send({ key, limit, asks: false, wanted: 0, returned: granted, used: [] });
    return;
  }
  lease.isAsking = false;
  lease.left += granted;
  lease.total = total + lease.used.reduce((sum, { count }) => sum + count, 0);
  lease.resetAtMs = state.clock() + resetMs;
  // The window is close to its limit.
  if (leaseMax === 0) giveBack(state, lease);
  else if (lease.left > leaseMax) giveBackPart(state, lease, lease.left - leaseMax);
}

function giveBackPart(state: LeasesState, lease: Lease, returned: number): void {
  lease.left -= returned;
  tell(state, lease, { asks: false, wanted: 0, returned });
}

function giveBack(state: LeasesState, lease: Lease): void {
  state.leases.delete(lease.key);
  lease.forget();
  tell(state, lease, { asks: false, wanted: 0, returned: lease.left });
}

function tell(
  { send, clock }: LeasesState,
  lease: Lease,
  { asks, wanted, returned }: Pick<LeaseExchange, 'asks' | 'wanted' | 'returned'>,
): void {
  const nowMs = clock();
  // Rounded down, so that the parent counts none for too short a time.
  const used = lease.used.flatMap(({ toMs, count }) => [Math.floor(nowMs - toMs), count]);
  lease.used = [];
  if (asks || returned > 0 || used.length > 0)
    send({ key: lease.key, limit: lease.limit, asks, wanted, returned, used });
}

function stopTimer(state: LeasesState): void {
  if (state.timer !== null) clearInterval(state.timer);
  state.timer = null;
}

const emptyLease = (key: string, limit: number, forget: () => void): Lease => ({
  key,
  limit,
  left: 0,
  used: [],
  total: 0,
  resetAtMs: 0,
  // So that it is not given back at once when the next exchange comes soon.
  demand: DEMAND_MIN,
  isAsking: false,
  forget,
});

function takeFrom(lease: Lease, cost: number, nowMs: number): Decision | null {
  if (lease.left < cost) return null;
  lease.left -= cost;
  lease.total += cost;
  const last = lease.used.at(-1);
  // One entry for each millisecond.
  if (last === undefined || nowMs - last.fromMs >= 1) lease.used.push({ fromMs: nowMs, toMs: nowMs, count: cost });
  else {
    last.toMs = nowMs;
    last.count += cost;
  }
  return {
    admitted: true,
    remaining: Math.max(lease.limit - lease.total, 0),
    // The next oldest is known to the parent only.
    resetMs: Math.max(lease.resetAtMs - nowMs, 1),
  };
}
