import type { ClientLimits } from '../../apps/server/src/auth/clients.ts';

/** Limits for tests in which they have no effect. */
export const LIMITS: ClientLimits = {
  'check-status': 1,
  'check-account': 1,
  events: 1,
  callbacks: 1,
  banks: 1,
  'account-validations': 1,
  transactions: 1,
  'account-checks': 1,
  'accounts-per-day': 1,
};
