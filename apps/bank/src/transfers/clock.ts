/**
 * The clock of transfers: the real time plus the time by which it was advanced. It never goes back, not even when the
 * machine's clock does, because a final transfer must not become pending again.
 */
export interface TransferClock {
  /** Milliseconds since 1970. */
  now(): number;
  advance(milliseconds: number): void;
  /** From now on, the clock shows at least this time. */
  advanceTo(timeMs: number): void;
  /** The sum of all advances, in milliseconds. */
  advancedMs(): number;
}

/** `realNow` gives milliseconds since 1970. */
export function createTransferClock(realNow: () => number): TransferClock {
  let advancedMs = 0;
  let latestMs = 0;
  return {
    now() {
      latestMs = Math.max(latestMs, realNow() + advancedMs);
      return latestMs;
    },
    advance(milliseconds) {
      // The shown time must advance even if the machine's clock went back and `latestMs` is still ahead of it.
      latestMs += milliseconds;
      advancedMs += milliseconds;
    },
    advanceTo(timeMs) {
      latestMs = Math.max(latestMs, timeMs);
    },
    advancedMs: () => advancedMs,
  };
}
