import { script } from './place.ts';
import { READ_CACHE, WRITE_CACHE } from './scripts.ts';
import type { SharedWindows } from './shared-windows.ts';

/** Values that all processes share for some time. */
export interface SharedCache {
  /** Writes in the background. While Valkey is away, nothing is written. */
  put(key: string, value: string, lifetimeMs: number): void;
  /** Null when there is no value, or Valkey is away. */
  find(key: string): Promise<CachedValue | null>;
  isPresent(): boolean;
}

export interface CachedValue {
  readonly value: string;
  /** For how long it is still kept. */
  readonly leftMs: number;
}

const READ = script(READ_CACHE);
const WRITE = script(WRITE_CACHE);

export const createSharedCache = (windows: SharedWindows, name: string): SharedCache => ({
  isPresent: windows.isPresent,
  put(key, value, lifetimeMs) {
    if (windows.isPresent()) windows.run(WRITE, [`${name} ${key}`], [value, lifetimeMs]).catch(() => {});
  },
  async find(key) {
    const reply = await windows.run(READ, [`${name} ${key}`], []).catch(() => null);
    if (!Array.isArray(reply)) return null;
    const [value, leftMs] = reply as [string, number];
    return { value, leftMs };
  },
});
