import type { ClientLimits } from '../../apps/server/src/auth/clients.ts';

/** For tests in which nothing is limited. */
export const LIMITS_OF_ONE: ClientLimits = {
  'check-status': 1,
  'check-account': 1,
  events: 1,
  callbacks: 1,
  banks: 1,
  'account-validations': 1,
  'accounts-per-day': 1,
};
