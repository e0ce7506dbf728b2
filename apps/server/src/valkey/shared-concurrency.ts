import type { ConcurrencyLimiter } from '../rate-limit/concurrency-limiter.ts';
import { script } from './place.ts';
import { COUNT_OPEN } from './scripts.ts';
import type { SharedWindows } from './shared-windows.ts';

export interface SharedConcurrencyDependencies {
  readonly windows: SharedWindows;
  /** Distinguishes the keys of this limiter from those of others. */
  readonly name: string;
  /** Another one in each process and after each start. */
  readonly processId: string;
  /** Each process grants its share of a limit while Valkey is away. */
  readonly liveProcesses: () => number;
  readonly onDecidedAlone: () => void;
  /** What a process has open counts for this long after it was last heard. */
  readonly leaseMs?: number;
}

const SCRIPT = script(COUNT_OPEN);
const LEASE_MS = 15_000;
/** A process that has not been called for this long may have missed that Valkey lost its data. */
const PAUSE_MS = 600;
/** For a count that is only to be recorded. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/**
 * The limiter of several processes. Each process tells Valkey how many it has open, as a whole number and not as a
 * change: so a number that was lost or came late is put right by the next one, and after a while by the same one.
 */
export function createSharedConcurrencyLimiter(dependencies: SharedConcurrencyDependencies): ConcurrencyLimiter {
  const { windows, name, processId, liveProcesses, onDecidedAlone, leaseMs = LEASE_MS } = dependencies;
  /** What this process has open, with those on which Valkey has not decided yet. */
  const openByKey = new Map<string, number>();
  /** The keys whose number Valkey may not know. */
  const changed = new Set<string>();
  let renewedMs = performance.now();
  let readMs = renewedMs;

  // In order: an older count that arrives after a newer one would let Valkey admit too many.
  const tell = (key: string, max: number): Promise<unknown> =>
    windows.runInOrder(SCRIPT, [`${name} ${key}`], [processId, openByKey.get(key) ?? 0, max, leaseMs]);

  function markChanged(key: string): void {
    if (changed.size === 0) setImmediate(tellChanged);
    changed.add(key);
  }

  function tellChanged(): void {
    const keys = [...changed];
    changed.clear();
    // When Valkey is away, all numbers are told again as soon as it is back.
    if (windows.isPresent()) for (const key of keys) tell(key, NO_LIMIT).catch(() => {});
  }

  function decideAlone(key: string, max: number): boolean {
    onDecidedAlone();
    const isAdmitted = (openByKey.get(key) ?? 0) <= Math.ceil(max / liveProcesses());
    if (!isAdmitted) drop(openByKey, key);
    return isAdmitted;
  }

  async function decideTogether(key: string, max: number): Promise<boolean> {
    let reply: unknown;
    try {
      reply = await tell(key, max);
    } catch {
      return decideAlone(key, max);
    }
    if (reply === 1) return true;
    drop(openByKey, key);
    // Another number may have been told meanwhile, with this one in it.
    markChanged(key);
    return false;
  }

  windows.addReader(() => {
    const nowMs = performance.now();
    const isDue = nowMs - renewedMs >= leaseMs / 3 || nowMs - readMs > PAUSE_MS;
    readMs = nowMs;
    if (!isDue) return;
    renewedMs = nowMs;
    for (const key of openByKey.keys()) markChanged(key);
  });

  return {
    acquire(key, max) {
      const open = openByKey.get(key) ?? 0;
      if (open >= max) return false;
      openByKey.set(key, open + 1);
      return windows.isPresent() ? decideTogether(key, max) : decideAlone(key, max);
    },
    release(key) {
      drop(openByKey, key);
      markChanged(key);
    },
  };
}

function drop(openByKey: Map<string, number>, key: string): void {
  const left = (openByKey.get(key) ?? 1) - 1;
  if (left === 0) openByKey.delete(key);
  else openByKey.set(key, left);
}
