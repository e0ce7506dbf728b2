import { script } from './place.ts';
import { APPEND } from './scripts.ts';
import type { SharedWindows } from './shared-windows.ts';

/** Entries of all processes, in one order. Each process reads those of the others when it appends its own. */
export interface SharedLog {
  /**
   * Appends entries and reads those that others have appended since the index `after`. Null when Valkey is away: the
   * entries may have been appended, and must not be appended again.
   */
  append(key: string, entries: readonly string[], after: number): Promise<Appended | null>;
  isPresent(): boolean;
}

export interface Appended {
  /** The index of the last entry that was appended. Begins again at 1 when Valkey has lost its data. */
  readonly index: number;
  /** What others appended before, the oldest first; without the oldest ones when there are too many. */
  readonly others: readonly { readonly entry: string; readonly ageMs: number }[];
}

const SCRIPT = script(APPEND);
/** How many entries a log keeps. A process that starts reads all of them at once, which takes some milliseconds. */
const ENTRIES_MAX = 20_000;

export function createSharedLog(windows: SharedWindows, name: string, lifetimeMs: number): SharedLog {
  return {
    isPresent: windows.isPresent,
    async append(key, entries, after) {
      const keys = [`${name} ${key}`, `${name} ${key} length`];
      const reply = await windows.run(SCRIPT, keys, [after, ENTRIES_MAX, lifetimeMs, ...entries]).catch(() => null);
      if (!Array.isArray(reply)) return null;
      const [index, now, ...texts] = reply as unknown as readonly [number, number, ...string[]];
      return { index, others: texts.map((text) => parse(text, now)) };
    },
  };
}

function parse(text: string, now: number): Appended['others'][number] {
  const space = text.indexOf(' ');
  return { entry: text.slice(space + 1), ageMs: Math.max(now - Number(text.slice(0, space)), 0) };
}
