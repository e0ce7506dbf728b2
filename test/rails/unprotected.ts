import { PROTECTION, type Protection } from '../../apps/server/src/rails/resilience/settings.ts';

const NEVER = Number.POSITIVE_INFINITY;

/** For tests that have a bank misbehave again and again, and want every question to reach it, once. */
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
