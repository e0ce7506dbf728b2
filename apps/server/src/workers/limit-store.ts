import { randomUUID } from 'node:crypto';
import { WINDOW_MS } from '../rate-limit/limiter.ts';
import { createSlidingWindow, type SlidingWindow } from '../rate-limit/sliding-window.ts';
import { APPEND, COUNT_OPEN, DECIDE, FIND_GENERATION, READ_CACHE, RESTORE, WRITE_CACHE } from '../valkey/scripts.ts';
import { createLeaseStore, type LeaseStore } from './lease-store.ts';
import { createOpenStore, type OpenStore } from './open-store.ts';

/** What a script of Valkey does, by a short name that workers send to their parent. */
const OPERATIONS = {
  decide: DECIDE,
  'find-generation': FIND_GENERATION,
  restore: RESTORE,
  append: APPEND,
  'count-open': COUNT_OPEN,
  'read-cache': READ_CACHE,
  'write-cache': WRITE_CACHE,
} as const;
export type LimitOperation = keyof typeof OPERATIONS;
export type Arguments = readonly (string | number)[];

const OPERATION_OF = new Map<string, LimitOperation>(
  Object.entries(OPERATIONS).map(([name, lua]) => [lua, name as LimitOperation]),
);

/** Undefined for a script that the parent does not know. */
export const operationOf = (lua: string): LimitOperation | undefined => OPERATION_OF.get(lua);

/**
 * Windows, counters and logs that all workers of this machine share, in the memory of their parent. Each operation has
 * the keys, arguments and reply of the script of Valkey that it stands for (valkey/scripts.ts), so that workers use the
 * one or the other in the same way.
 */
export interface LimitStore {
  readonly leases: LeaseStore;
  /** Returns a promise when leases have to be given back before the decision. */
  run(operation: LimitOperation, keys: readonly string[], args: Arguments): unknown;
}

interface Counter {
  total: number;
  expiresMs: number;
}

interface EntryLog {
  /** Each with its time before it. */
  entries: string[];
  /** The number of entries that were ever appended. */
  length: number;
  expiresMs: number;
}

interface CachedValue {
  readonly value: string;
  readonly expiresMs: number;
}

interface StoreState {
  readonly generation: string;
  /** By their length. */
  readonly windows: Map<number, SlidingWindow>;
  readonly leases: LeaseStore;
  readonly counters: Map<string, Counter>;
  readonly logs: Map<string, EntryLog>;
  readonly open: OpenStore;
  readonly cached: Map<string, CachedValue>;
  nowMs: number;
  nextSweepMs: number;
}

const SWEEP_INTERVAL_MS = 60_000;

/** `clock`: milliseconds on a clock that never jumps. `recallTimeoutMs`: for tests on machines that are busy. */
export function createLimitStore(clock: () => number = () => performance.now(), recallTimeoutMs?: number): LimitStore {
  const state: StoreState = {
    generation: randomUUID(),
    windows: new Map(),
    leases: createLeaseStore(() => {
      state.nowMs = clock();
      return windowsOf(state, WINDOW_MS);
    }, recallTimeoutMs),
    counters: new Map(),
    logs: new Map(),
    open: createOpenStore(),
    cached: new Map(),
    nowMs: clock(),
    nextSweepMs: clock() + SWEEP_INTERVAL_MS,
  };
  return {
    leases: state.leases,
    run(operation, keys, args) {
      state.nowMs = clock();
      if (state.nowMs >= state.nextSweepMs) sweep(state);
      switch (operation) {
        case 'decide':
          return decideAfterRecall(state, keys, args, clock);
        case 'find-generation':
          return state.generation;
        case 'restore':
          return restore(state, keys, args);
        case 'append':
          return append(state, keys, args);
        case 'count-open':
          return state.open.count(keys, args, state.nowMs);
        case 'read-cache':
          return readCache(state, keys);
        case 'write-cache':
          return writeCache(state, keys, args);
      }
    },
  };
}

/** Windows drop the keys that are not used by themselves. */
function sweep(state: StoreState): void {
  const { counters, logs, cached, open, nowMs } = state;
  state.nextSweepMs = nowMs + SWEEP_INTERVAL_MS;
  open.sweep(nowMs);
  for (const kept of [counters, logs, cached])
    for (const [key, { expiresMs }] of kept) if (expiresMs <= nowMs) kept.delete(key);
}

/** A test may give the present to a script; the store then has that clock. */
const givenClock = (state: StoreState, given: string | number | undefined): void => {
  if (given !== undefined && given !== '') state.nowMs = Number(given);
};

function windowsOf(state: StoreState, windowMs: number): SlidingWindow {
  let windows = state.windows.get(windowMs);
  if (windows === undefined) {
    windows = createSlidingWindow(() => state.nowMs, windowMs);
    state.windows.set(windowMs, windows);
  }
  return windows;
}

/** Of the window with the key of this index: four arguments each, after the generation and the time (DECIDE). */
const requestAt = (args: Arguments, index: number) => {
  const [windowMs, limit, cost, times] = args.slice(index * 4 - 2, index * 4 + 2) as [number, number, number, number];
  return { windowMs, limit, cost, times };
};

/** Before a request is refused, the workers give back what they may not need. */
function decideAfterRecall(state: StoreState, keys: readonly string[], args: Arguments, clock: () => number): unknown {
  const recalled = keys.filter((key, index) => index > 0 && needsLeases(state, key, requestAt(args, index)));
  if (recalled.length === 0) return decide(state, keys, args);
  return state.leases.recall(recalled).then(() => {
    state.nowMs = clock();
    return decide(state, keys, args);
  });
}

function needsLeases(
  state: StoreState,
  key: string,
  { windowMs, limit, cost, times }: ReturnType<typeof requestAt>,
): boolean {
  const held = state.leases.held(key);
  if (held === 0) return false;
  const { total } = windowsOf(state, windowMs).takeSeveral(key, { limit, cost, times: 0 });
  return total + cost <= limit && total + held + cost * times > limit;
}

function decide(state: StoreState, keys: readonly string[], args: Arguments): unknown {
  if (args[0] !== state.generation) return state.generation;
  givenClock(state, args[1]);
  const reply: number[] = [];
  for (let index = 1; index < keys.length; index += 1) {
    const key = keys[index] as string;
    const { windowMs, limit, cost, times } = requestAt(args, index);
    if (windowMs < 0) {
      reply.push(...count(state, key, { lifetimeMs: -windowMs, limit, cost, times }), 0, 0);
    } else {
      reply.push(...decideWindow(state, key, { windowMs, limit, cost, times }));
    }
  }
  return reply;
}

function decideWindow(
  state: StoreState,
  key: string,
  { windowMs, limit, cost, times }: ReturnType<typeof requestAt>,
): [admitted: number, total: number, resetMs: number, refusedResetMs: number] {
  // What workers hold counts as admitted.
  const held = state.leases.held(key);
  const unleased = Math.max(limit - held, 0);
  const decided = windowsOf(state, windowMs).takeSeveral(key, { limit: unleased, cost, times });
  const total = decided.admitted < times ? decided.total + held : decided.total;
  const needsHeld = cost > unleased && cost <= limit;
  return [decided.admitted, total, decided.resetMs, needsHeld ? windowMs : decided.refusedResetMs];
}

interface CounterRequest {
  readonly lifetimeMs: number;
  readonly limit: number;
  readonly cost: number;
  readonly times: number;
}

function count(state: StoreState, key: string, { lifetimeMs, limit, cost, times }: CounterRequest): [number, number] {
  const total = totalOf(state, key);
  const admitted = Math.max(Math.min(times, Math.floor((limit - total) / cost)), 0);
  if (admitted > 0) setCounter(state, key, total + admitted * cost, lifetimeMs);
  return [admitted, total + admitted * cost];
}

function totalOf({ counters, nowMs }: StoreState, key: string): number {
  const counter = counters.get(key);
  return counter === undefined || counter.expiresMs <= nowMs ? 0 : counter.total;
}

function setCounter({ counters, nowMs }: StoreState, key: string, total: number, lifetimeMs: number): void {
  counters.set(key, { total, expiresMs: nowMs + lifetimeMs });
}

function restore(state: StoreState, keys: readonly string[], args: Arguments): number {
  givenClock(state, args[0]);
  for (const [index, key] of keys.entries()) {
    const windowMs = Number(args[index * 2 + 1]);
    const entries = parseEntries(String(args[index * 2 + 2]));
    if (windowMs < 0) {
      const [minimum, added] = entries[0] ?? [0, 0];
      setCounter(state, key, Math.max(totalOf(state, key), minimum) + added, -windowMs);
    } else windowsOf(state, windowMs).restore(key, entries);
  }
  return keys.length;
}

/** `age:count age:count …` */
const parseEntries = (text: string): [number, number][] =>
  [...text.matchAll(/(\d+):(\d+)/g)].map(([, age, units]) => [Number(age), Number(units)]);

function append(state: StoreState, [key = '']: readonly string[], args: Arguments): unknown {
  const [after, entriesMax, lifetimeMs, ...added] = args;
  const nowMs = Math.floor(state.nowMs);
  let log = state.logs.get(key);
  if (log === undefined || log.expiresMs <= state.nowMs) {
    log = { entries: [], length: 0, expiresMs: 0 };
    state.logs.set(key, log);
  }
  // An index beyond the log is of one that was lost: all entries of this one are unread.
  const behind = log.length - Number(after);
  const unread = Math.min(behind < 0 ? log.length : behind, log.entries.length);
  const others = unread > 0 ? log.entries.slice(-unread) : [];
  for (const entry of added) log.entries.push(`${nowMs} ${entry}`);
  log.length += added.length;
  log.expiresMs = state.nowMs + Number(lifetimeMs);
  // Not at each entry: it moves all of them.
  if (log.entries.length > Number(entriesMax) * 1.25) log.entries = log.entries.slice(-Number(entriesMax));
  return [log.length, nowMs, ...others];
}

function readCache({ cached, nowMs }: StoreState, [key = '']: readonly string[]): unknown {
  const found = cached.get(key);
  if (found === undefined || found.expiresMs <= nowMs) return null;
  return [found.value, Math.ceil(found.expiresMs - nowMs)];
}

function writeCache({ cached, nowMs }: StoreState, [key = '']: readonly string[], args: Arguments): string {
  cached.set(key, { value: String(args[0]), expiresMs: nowMs + Number(args[1]) });
  return 'OK';
}
