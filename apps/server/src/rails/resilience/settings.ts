import type { BreakerSettings } from './circuit-breaker.ts';
import type { QuotaSettings } from './quota.ts';

/** What was agreed with the bank about how much it is asked over one connection. */
export interface Contract extends QuotaSettings {
  /** How many questions may be under way; null for no such limit. */
  readonly concurrencyMax: number | null;
  /** Whether several banks are asked over it. */
  readonly isShared: boolean;
}

export const NO_CONTRACT: Contract = { perSecond: null, perDay: null, concurrencyMax: null, isShared: true };

/** How hard a bank may be asked, and when it is left alone. For each bank and rail by itself. */
export interface Protection {
  readonly breaker: BreakerSettings;
  /** Questions under way. More would only wait, each holding a request of a client. */
  readonly concurrencyMax: number;
  /** One question may be repeated for every so many that went out; Infinity for never. */
  readonly retryOneIn: number;
  /** One question may be hedged for every so many that went out. */
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
