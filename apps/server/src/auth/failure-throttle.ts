import type { SlidingWindow } from '../limits/sliding-window.ts';

/** Slows down who tries tokens or client secrets: so many failures per minute and address, then no more tries. */
export interface FailureThrottle {
  failed(address: string): void;
  /** How long the address must wait; 0 when it need not. */
  blockedMs(address: string): number;
}

export function createFailureThrottle(window: SlidingWindow, failuresPerMinute: number): FailureThrottle {
  return {
    failed(address) {
      window.take(address, failuresPerMinute);
    },
    blockedMs(address) {
      const { admitted, resetMs } = window.peek(address, failuresPerMinute);
      return admitted ? 0 : Math.max(resetMs, 1);
    },
  };
}
