import type { Admissions } from './restore.ts';
import type { SharedWindows, WindowRequest } from './shared-windows.ts';

/** Counters that all processes share, such as a bank's inquiries of a day. They only grow: a new day has a new key. */
export interface SharedCounter {
  /** Counts one, unless the counter has reached the limit. */
  take(key: string, limit: number): Promise<boolean>;
  /** The number that Valkey or, while it is away, this process last knew; 0 when nothing is known. */
  total(key: string): number;
  /** Sets the counter to `total` if it is lower, for example to what the database shows. */
  raise(key: string, total: number): void;
  /**
   * Reads the counter of this key every 250 ms, so that the share of what is left is right although other processes
   * count. `key` returns the present key; a later one of the same name takes its place.
   */
  watch(name: string, key: () => string): void;
}

export interface SharedCounterDependencies {
  readonly windows: SharedWindows;
  /** Distinguishes the keys of this counter from those of others. */
  readonly name: string;
  readonly liveProcesses: () => number;
  readonly onDecidedAlone: () => void;
  /** A counter to which nothing was added for this long is forgotten. */
  readonly lifetimeMs: number;
}

interface Known {
  /** As of Valkey's last reply. */
  total: number;
  /** What this process has counted since, by itself. */
  counted: number;
  /** The part of `counted` that Valkey has not seen. */
  uncounted: number;
}

/** How many counters a process remembers. When there are more, it forgets the oldest. */
const COUNTERS_MAX = 1_000;

export function createSharedCounter(dependencies: SharedCounterDependencies): SharedCounter {
  const { windows, name, liveProcesses, onDecidedAlone, lifetimeMs } = dependencies;
  const counters = new Map<string, Known>();

  function knownOf(key: string): Known {
    let known = counters.get(key);
    if (known === undefined) {
      counters.set(key, (known = { total: 0, counted: 0, uncounted: 0 }));
      const [oldest] = counters.keys();
      if (counters.size > COUNTERS_MAX && oldest !== undefined) counters.delete(oldest);
    }
    return known;
  }

  /** A process grants its share of what was left when Valkey was last heard. */
  function takeAlone(known: Known, limit: number, mayBeCounted: boolean): boolean {
    onDecidedAlone();
    if (known.counted >= Math.ceil(Math.max(limit - known.total, 0) / liveProcesses())) return false;
    known.counted += 1;
    if (!mayBeCounted) known.uncounted += 1;
    return true;
  }

  function* admissions(isAll: boolean): Iterable<Admissions> {
    for (const [key, { total, uncounted }] of counters)
      if (isAll || uncounted > 0)
        yield { key: `${name} ${key}`, windowMs: -lifetimeMs, entries: [[isAll ? total : 0, uncounted]] };
  }

  const watched = new Map<string, () => string>();
  windows.addReader(() => {
    for (const key of watched.values())
      look(windows, { key: `${name} ${key()}`, windowMs: -lifetimeMs }, knownOf(key()));
  });

  windows.addSource({
    all: () => admissions(true),
    uncounted: () => admissions(false),
    onRestored() {
      for (const known of counters.values()) {
        known.total += known.uncounted;
        known.counted -= known.uncounted;
        known.uncounted = 0;
      }
    },
  });

  return {
    take(key, limit) {
      const known = knownOf(key);
      if (!windows.isPresent()) return Promise.resolve(takeAlone(known, limit, false));
      return takeShared(windows, { key: `${name} ${key}`, windowMs: -lifetimeMs, limit }, known, (mayBeCounted) =>
        takeAlone(known, limit, mayBeCounted),
      );
    },
    total(key) {
      const known = counters.get(key);
      return known === undefined ? 0 : known.total + known.counted;
    },
    raise(key, total) {
      const known = knownOf(key);
      known.total = Math.max(known.total, total);
      windows.raise({ key: `${name} ${key}`, windowMs: -lifetimeMs, entries: [[total, 0]] });
    },
    watch: (watchName, key) => void watched.set(watchName, key),
  };
}

function takeShared(
  windows: SharedWindows,
  counter: Pick<WindowRequest, 'key' | 'windowMs' | 'limit'>,
  known: Known,
  takeAlone: (mayBeCounted: boolean) => boolean,
): Promise<boolean> {
  return new Promise((resolve) => {
    windows.decide({
      ...counter,
      cost: 1,
      times: 1,
      isSent: false,
      onDecided({ admitted, total }) {
        learn(known, total);
        resolve(admitted === 1);
      },
      onAway: (mayBeCounted) => resolve(takeAlone(mayBeCounted)),
    });
  });
}

function look(windows: SharedWindows, counter: Pick<WindowRequest, 'key' | 'windowMs'>, known: Known): void {
  windows.decide({
    ...counter,
    limit: 0,
    cost: 1,
    times: 0,
    isSent: false,
    onDecided: ({ total }) => learn(known, total),
    onAway() {},
  });
}

/** Valkey's total holds all that this process has counted, but for what it has not seen. */
function learn(known: Known, total: number): void {
  known.total = Math.max(total, known.total);
  known.counted = known.uncounted;
}
