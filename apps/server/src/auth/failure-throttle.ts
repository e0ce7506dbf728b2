import type { Log } from '../observability/log.ts';
import type { SlidingWindow } from '../rate-limit/sliding-window.ts';

/** Limits guesses of tokens and client secrets: after a number of failures per minute, an address is blocked. */
export interface FailureThrottle {
  recordFailure(address: string): void;
  /** How long the address is still blocked; 0 when it is not. */
  blockedMs(address: string): number;
}

export function createFailureThrottle(
  window: SlidingWindow,
  failuresPerMinute: number,
  log: Pick<Log, 'warn'>,
): FailureThrottle {
  /** At most once a minute: an address that goes on is unblocked for one try and blocked again, over and over. */
  const shouldWarn = (address: string): boolean => window.take(`warned ${address}`, 1).admitted;

  return {
    recordFailure(address) {
      const { remaining } = window.take(address, failuresPerMinute);
      if (remaining > 0 || !shouldWarn(address)) return;
      log.warn({ address, failuresPerMinute }, 'too many failed authentications; address blocked');
    },
    blockedMs(address) {
      const { admitted, resetMs } = window.peek(address, failuresPerMinute);
      return admitted ? 0 : Math.max(resetMs, 1);
    },
  };
}
