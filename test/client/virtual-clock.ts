import type { Clock } from '../../packages/client/src/clock.ts';

/** A clock that stands still until the test advances it. */
export interface VirtualClock extends Clock {
  /** Moves on to the next timer and fires it; false when there is none. */
  fireNext(): boolean;
  /** When the timers fire that are set now, the soonest first. */
  timersMs(): number[];
}

export function createVirtualClock(): VirtualClock {
  let nowMs = 0;
  const timers = new Set<{ readonly atMs: number; readonly callback: () => void }>();
  const inOrder = () => [...timers].sort((one, other) => one.atMs - other.atMs);
  return {
    now: () => nowMs,
    setTimer(callback, delayMs) {
      const timer = { atMs: nowMs + delayMs, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    fireNext() {
      const [next] = inOrder();
      if (next === undefined) return false;
      timers.delete(next);
      nowMs = Math.max(nowMs, next.atMs);
      next.callback();
      return true;
    },
    timersMs: () => inOrder().map(({ atMs }) => atMs),
  };
}

/** Numbers that make every backoff as long as it can be. */
export const longestBackoff = (): number => 1;
