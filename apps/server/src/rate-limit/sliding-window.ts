import { type Decision, type Limiter, WINDOW_MS } from './limiter.ts';

/** Milliseconds on a clock that never jumps: a jump of the wall clock would reopen or freeze a window. */
export type MonotonicClock = () => number;

/**
 * The in-process limiter: for each key, a ring buffer with the times of the requests admitted in the last window. It is
 * exact because it stores each of them; a counter per fixed minute would admit twice the limit around the change of
 * minute.
 */
export interface SlidingWindow extends Limiter {
  take(key: string, limit: number, cost?: number): Decision;
  peek(key: string, limit: number, cost?: number): Decision;
  /** Takes several requests of the same cost at once: the first ones are admitted. */
  takeSeveral(key: string, requests: SeveralRequests): SeveralDecision;
  /** Counts requests that were admitted elsewhere, whatever the limit. */
  record(key: string, count: number): void;
  /** The same for requests that were admitted some milliseconds ago. */
  restore(key: string, entries: readonly (readonly [ageMs: number, count: number])[]): void;
  /** What the windows hold: ages in whole milliseconds, rounded down, and how many requests are of that age. */
  admissions(): Iterable<{ readonly key: string; readonly entries: readonly (readonly [number, number])[] }>;
  clear(): void;
}

export interface SeveralRequests {
  readonly limit: number;
  /** How much each request counts. */
  readonly cost: number;
  /** How many requests there are; 0 to look only. */
  readonly times: number;
}

export interface SeveralDecision {
  readonly admitted: number;
  /** What the window holds now. */
  readonly total: number;
  /** The time until the oldest admission leaves the window; 0 when it is empty. */
  readonly resetMs: number;
  /** The time until a refused request would be admitted. */
  readonly refusedResetMs: number;
}

/** @param windowMs the length of the windows, for limits that are not per minute */
export function createSlidingWindow(clock: MonotonicClock, windowMs = WINDOW_MS): SlidingWindow {
  const rings = new Map<string, Ring>();
  let nextSweepMs = clock() + windowMs;

  // A key without requests for a whole window has nothing to count: deleting it limits memory to the keys in use.
  function sweep(now: number): void {
    nextSweepMs = now + windowMs;
    for (const [key, ring] of rings) {
      dropExpired(ring, now, windowMs);
      if (ring.count === 0) rings.delete(key);
    }
  }

  function ringOf(key: string, now: number): Ring {
    if (now >= nextSweepMs) sweep(now);
    let ring = rings.get(key);
    if (ring === undefined) rings.set(key, (ring = createRing()));
    dropExpired(ring, now, windowMs);
    return ring;
  }

  return {
    take(key, limit, cost = 1) {
      const now = clock();
      const ring = ringOf(key, now);
      const admitted = ring.count + cost <= limit;
      if (admitted) for (let unit = 0; unit < cost; unit += 1) append(ring, now);
      return decision(ring, limit, now, admitted, cost, windowMs);
    },
    peek(key, limit, cost = 1) {
      const now = clock();
      const ring = rings.get(key);
      if (ring === undefined) {
        return cost > limit
          ? { admitted: false, remaining: limit, resetMs: windowMs }
          : { admitted: true, remaining: limit, resetMs: 0 };
      }
      dropExpired(ring, now, windowMs);
      return decision(ring, limit, now, ring.count + cost <= limit, cost, windowMs);
    },
    takeSeveral(key, { limit, cost, times }) {
      const now = clock();
      const ring = ringOf(key, now);
      const admitted = Math.max(Math.min(times, Math.floor((limit - ring.count) / cost)), 0);
      for (let unit = 0; unit < admitted * cost; unit += 1) append(ring, now);
      const isFull = ring.count + cost > limit && cost <= limit;
      const resetMs = decision(ring, limit, now, true, 1, windowMs).resetMs;
      const refusedResetMs = isFull ? decision(ring, limit, now, false, cost, windowMs).resetMs : resetMs;
      return { admitted, total: ring.count, resetMs, refusedResetMs };
    },
    record(key, count) {
      const now = clock();
      const ring = ringOf(key, now);
      for (let unit = 0; unit < count; unit += 1) append(ring, now);
    },
    restore(key, entries) {
      const now = clock();
      const ring = ringOf(key, now);
      insert(ring, now, entries.filter(([ageMs]) => ageMs < windowMs).toSorted(oldestFirst));
    },
    *admissions() {
      const now = clock();
      for (const [key, ring] of rings) {
        dropExpired(ring, now, windowMs);
        if (ring.count > 0) yield { key, entries: agesOf(ring, now) };
      }
    },
    clear: () => rings.clear(),
  };
}

const noneAdmitted = (windowMs: number): Decision => ({ admitted: false, remaining: 0, resetMs: windowMs });

/**
 * `count` times from `start` on, oldest first. It grows with use, so that a high limit costs nothing before it is used.
 */
interface Ring {
  times: Float64Array;
  start: number;
  count: number;
}

// Small, because an attacker with many addresses causes as many rings: failed authentications are counted by address
// and client.
const RING_CAPACITY_MIN = 8;

const createRing = (): Ring => ({ times: new Float64Array(RING_CAPACITY_MIN), start: 0, count: 0 });

function dropExpired(ring: Ring, now: number, windowMs: number): void {
  const { times } = ring;
  while (ring.count > 0 && now - (times[ring.start] as number) >= windowMs) {
    ring.start = ring.start + 1 === times.length ? 0 : ring.start + 1;
    ring.count -= 1;
  }
}

function append(ring: Ring, now: number): void {
  if (ring.count === ring.times.length) grow(ring);
  const end = ring.start + ring.count;
  ring.times[end < ring.times.length ? end : end - ring.times.length] = now;
  ring.count += 1;
}

function grow(ring: Ring): void {
  const times = new Float64Array(ring.times.length * 2);
  times.set(ring.times.subarray(ring.start));
  times.set(ring.times.subarray(0, ring.start), ring.times.length - ring.start);
  ring.times = times;
  ring.start = 0;
}

const oldestFirst = ([age]: readonly [number, number], [other]: readonly [number, number]): number => other - age;

/** Moves only what is newer than the first of `entries`, which are the oldest first. */
function insert(ring: Ring, now: number, entries: readonly (readonly [ageMs: number, count: number])[]): void {
  const [first] = entries;
  if (first === undefined) return;
  /** The newest first. */
  const newer: number[] = [];
  for (; ring.count > 0 && newestOf(ring) > now - first[0]; ring.count -= 1) newer.push(newestOf(ring));
  for (const [ageMs, count] of entries) {
    const time = now - ageMs;
    while ((newer.at(-1) ?? time) < time) append(ring, newer.pop() as number);
    for (let unit = 0; unit < count; unit += 1) append(ring, time);
  }
  while (newer.length > 0) append(ring, newer.pop() as number);
}

const newestOf = ({ times, start, count }: Ring): number => times[(start + count - 1) % times.length] as number;

function agesOf({ times, start, count }: Ring, now: number): [ageMs: number, count: number][] {
  const ages: [ageMs: number, count: number][] = [];
  for (let index = start; index < start + count; index += 1) {
    const ageMs = Math.floor(now - (times[index < times.length ? index : index - times.length] as number));
    const last = ages.at(-1);
    if (last?.[0] === ageMs) last[1] += 1;
    else ages.push([ageMs, 1]);
  }
  return ages;
}

function decision(ring: Ring, limit: number, now: number, admitted: boolean, cost: number, windowMs: number): Decision {
  if (limit === 0) return noneAdmitted(windowMs);
  if (cost > limit) return { admitted, remaining: Math.max(limit - ring.count, 0), resetMs: windowMs };
  // More than the oldest must leave the window before a request that costs more than 1 is admitted, and before any is
  // admitted after the limit was lowered.
  const leaving = admitted ? 0 : ring.count + cost - limit - 1;
  const index = ring.start + leaving;
  const oldest = ring.times[index < ring.times.length ? index : index - ring.times.length] as number;
  return {
    admitted,
    remaining: Math.max(limit - ring.count, 0),
    // Computed in this order: (oldest + windowMs) - now rounds, and could be a little more than the whole window.
    resetMs: ring.count === 0 ? 0 : windowMs - (now - oldest),
  };
}
