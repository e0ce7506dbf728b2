import { jakartaDayOf, jakartaDayStartMs } from '../domain/instant.ts';
import { countAsked } from '../postgres/account-checks.ts';
import { type AccountInquiries, createAccountInquiries } from '../rails/account-inquiries.ts';
import type { AppContext } from './app-context.ts';
import type { Store } from './store.ts';

/** Banks are asked about accounts; what the operator should know of them is logged. */
export async function openAccountInquiries(
  { options, metrics }: AppContext,
  { database }: Store,
): Promise<AccountInquiries> {
  const { log } = options.logging;
  const hasDays = [...(options.inquiries?.contracts?.values() ?? [])].some(({ perDay }) => perDay !== null);
  const askedToday = () => countAsked(database, new Date(jakartaDayStartMs(jakartaDayOf(Date.now()))));
  return createAccountInquiries(options.rails, metrics, {
    onBreaker({ rail, bank, state }) {
      if (state === 'open') log.warn({ rail, bank }, 'the bank does not answer about accounts: it is given a rest');
      else if (state === 'half_open') log.info({ rail, bank }, 'the bank is asked again, one question only');
      else log.info({ rail, bank }, 'the bank answers about accounts as before');
    },
    // A start during the day does not give the day's quota again.
    ...(hasDays ? { askedToday: await askedToday() } : {}),
    ...options.inquiries,
  });
}
