import { PROTECTION, type Protection } from '../../apps/server/src/rails/resilience/settings.ts';

const NEVER = Number.POSITIVE_INFINITY;

/** For tests in which a bank fails again and again, and every inquiry must reach it once. */
export const UNPROTECTED: Protection = {
  ...PROTECTION,
  breaker: {
    ...PROTECTION.breaker,
    consecutiveFailuresMax: NEVER,
    windowOutcomesMin: NEVER,
    consecutiveThrottledMax: NEVER,
    consecutiveRejectionsMax: NEVER,
  },
  retryOneIn: NEVER,
};
