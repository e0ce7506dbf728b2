import { createMetrics } from '../../../apps/server/src/observability/metrics.ts';
import {
  type AccountInquiriesOptions,
  createAccountInquiries,
} from '../../../apps/server/src/rails/account-inquiries.ts';
import type { Rail } from '../../../apps/server/src/rails/rail.ts';
import { inquiryOf } from '../connection.ts';
import { accounts, withoutRail } from './scripted-rail.ts';

/** An account number that no test has used yet. */
export const nextAccount = accounts();

/** Account inquiries over these rails, with a clock that the test advances. Deadlines use real time nevertheless. */
export function inquiriesOver(rails: readonly Rail[], options: AccountInquiriesOptions = {}) {
  let nowMs = 1_000;
  const metrics = createMetrics();
  const inquiries = createAccountInquiries(rails, metrics, { clock: () => nowMs, random: () => 0, ...options });
  return {
    metrics,
    snapshot: inquiries.snapshot,
    advance: (ms: number) => (nowMs += ms),
    inquire: async (code = 'BCA', account = nextAccount(), clientId = 'alpha') =>
      withoutRail(await inquiries.inquire(inquiryOf(code, account, clientId))),
    /** For a request that must have the outcome at this time. */
    inquireUntil: async (deadlineMs: number, account = nextAccount()) =>
      withoutRail(await inquiries.inquire({ ...inquiryOf('BCA', account), deadlineMs })),
    spareCapacity: (code = 'BCA') => inquiries.spareCapacity(inquiryOf(code, nextAccount()).bank).capacity,
    railOf: async (code = 'BCA') => (await inquiries.inquire(inquiryOf(code, nextAccount()))).rail,
  };
}
