/**
 * The clock that transfers go by: the real one, plus what it has been pushed forward. It never goes back, not even when
 * the machine's clock does, because a transfer that was final must not be pending again.
 */
export interface TransferClock {
  /** Milliseconds since 1970. */
  now(): number;
  advance(milliseconds: number): void;
  /** The clock shows at least this moment from now on. */
  advanceTo(timeMs: number): void;
  /** All pushes together, in milliseconds. */
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
      // What is shown must move even while it waits for a machine's clock that went back.
      latestMs += milliseconds;
      advancedMs += milliseconds;
    },
    advanceTo(timeMs) {
      latestMs = Math.max(latestMs, timeMs);
    },
    advancedMs: () => advancedMs,
  };
}
