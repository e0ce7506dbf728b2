import type { BreakerSettings } from './breaker-outcomes.ts';
import type { QuotaSettings } from './quota.ts';

/** The limits agreed with the bank for one connection. */
export interface BankLimits extends QuotaSettings {
  /** How many inquiries may be in flight; null for no limit. */
  readonly concurrencyMax: number | null;
  /** Whether the connection leads to several banks. */
  readonly isShared: boolean;
}

export const NO_BANK_LIMITS: BankLimits = { perSecond: null, perDay: null, concurrencyMax: null, isShared: true };

/** How a bank is protected from too many inquiries. Applies to each combination of bank and rail. */
export interface Protection {
  readonly breaker: BreakerSettings;
  /** Inquiries in flight. More would only wait, each holding a request of a client. */
  readonly concurrencyMax: number;
  /** One retry is allowed for this many inquiries sent; Infinity for none. */
  readonly retryOneIn: number;
  /** One hedged inquiry is allowed for this many inquiries sent. */
  readonly hedgeOneIn: number;
}

export const PROTECTION: Protection = {
  breaker: {
    consecutiveFailuresMax: 5,
    windowOutcomesMin: 20,
    windowFailureRateMax: 0.5,
    windowMs: 10_000,
    openMinMs: 5_000,
    openMaxMs: 60_000,
    consecutiveThrottledMax: 3,
    throttledOpenMs: 1_000,
    consecutiveRejectionsMax: 10,
  },
  concurrencyMax: 64,
  retryOneIn: 10,
  hedgeOneIn: 50,
};
