/** Bounds how many things each key, such as a client, may have open at the same time. */
export interface ConcurrencyLimiter {
  /**
   * Counts one more of the key, unless there are `max`. A limiter in this process's memory returns at once; one that
   * several processes share returns a promise.
   */
  acquire(key: string, max: number): boolean | Promise<boolean>;
  /** One that was counted has ended. */
  release(key: string): void;
}

/** In this process's memory. */
export function createConcurrencyLimiter(): ConcurrencyLimiter {
  const openByKey = new Map<string, number>();
  return {
    acquire(key, max) {
      const open = openByKey.get(key) ?? 0;
      if (open >= max) return false;
      openByKey.set(key, open + 1);
      return true;
    },
    release(key) {
      const left = (openByKey.get(key) ?? 1) - 1;
      if (left === 0) openByKey.delete(key);
      else openByKey.set(key, left);
    },
  };
}
