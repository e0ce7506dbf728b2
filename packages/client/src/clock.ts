/** The time and the timers of a client. Tests pass one that they control. */
export interface Clock {
  /** Milliseconds, never going back. */
  now(): number;
  /** Calls back once after `delayMs`; returns a function that cancels. */
  setTimer(callback: () => void, delayMs: number): () => void;
}

/** Timers take no longer time (a signed integer of 32 bits). */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(callback, delayMs) {
    const timer = setTimeout(callback, Math.min(delayMs, TIMER_MS_MAX));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`. Rejects with the signal's reason as soon as the signal is aborted. */
export const pause = (clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> =>
  untilAborted(signal, (resolve) => clock.setTimer(resolve, delayMs));

/**
 * A promise that the signal can reject. `start` begins what is waited for and returns a function that ends it. It may
 * settle the promise at once; after that, the signal ends nothing.
 */
export function untilAborted<T>(
  signal: AbortSignal,
  start: (resolve: (value: T) => void, reject: (reason: unknown) => void) => () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    let settled = false;
    function settle(): void {
      settled = true;
      signal.removeEventListener('abort', abort);
    }
    const end = start(
      (value) => {
        settle();
        resolve(value);
      },
      (reason) => {
        settle();
        reject(reason);
      },
    );
    function abort(): void {
      end();
      reject(signal.reason);
    }
    if (!settled) signal.addEventListener('abort', abort, { once: true });
  });
}

/** The promise, for a caller that may give up earlier than the others who share it. */
export const shared = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> => {
  // Without a caller left, a failure is of no interest.
  promise.catch(() => undefined);
  return untilAborted(signal, (resolve, reject) => {
    promise.then(resolve, reject);
    return () => undefined;
  });
};
