import { type AccountInquiries, createAccountInquiries } from '../rails/account-inquiries.ts';
import type { Stage } from './parts.ts';

/** Banks are asked about accounts; what the operator should know of them is logged. */
export function openInquiries({ options, metrics }: Stage): AccountInquiries {
  const { log } = options.logging;
  return createAccountInquiries(options.rails, metrics, {
    onBreaker({ rail, bank, state }) {
      if (state === 'open') log.warn({ rail, bank }, 'the bank does not answer about accounts: it is given a rest');
      else if (state === 'half_open') log.info({ rail, bank }, 'the bank is asked again, one question only');
      else log.info({ rail, bank }, 'the bank answers about accounts as before');
    },
    ...options.inquiries,
  });
}
