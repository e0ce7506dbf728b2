import type { Log } from '../observability/log.ts';
import type { SlidingWindow } from '../rate-limit/sliding-window.ts';

/** Slows down who tries tokens or client secrets: so many failures per minute and address, then no more tries. */
export interface FailureThrottle {
  recordFailure(address: string): void;
  /** How long the address must wait; 0 when it need not. */
  blockedMs(address: string): number;
}

export function createFailureThrottle(
  window: SlidingWindow,
  failuresPerMinute: number,
  log: Pick<Log, 'warn'>,
): FailureThrottle {
  /** Once a minute at most: whoever goes on is let in for a try, and stopped again, all the time. */
  const shouldWarn = (address: string): boolean => window.take(`warned ${address}`, 1).admitted;

  return {
    recordFailure(address) {
      const { remaining } = window.take(address, failuresPerMinute);
      if (remaining > 0 || !shouldWarn(address)) return;
      log.warn({ address, failuresPerMinute }, 'too many failed authentications from this address: it has to wait');
    },
    blockedMs(address) {
      const { admitted, resetMs } = window.peek(address, failuresPerMinute);
      return admitted ? 0 : Math.max(resetMs, 1);
    },
  };
}
