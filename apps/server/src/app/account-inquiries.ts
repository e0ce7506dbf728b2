import { startAvailabilityPublisher } from '../bank-availability/publisher.ts';
import { jakartaDayOf, jakartaDayStartMs } from '../domain/instant.ts';
import { countInquiries } from '../postgres/account-checks.ts';
import { type AccountInquiries, createAccountInquiries } from '../rails/account-inquiries.ts';
import type { AppContext } from './app-context.ts';
import type { PostgresServices } from './postgres.ts';
import type { SharedLimits } from './shared-limits.ts';

/** Inquires banks about accounts over the rails, and logs every change of a circuit breaker. */
export async function openAccountInquiries(
  { options, metrics }: AppContext,
  { database, processes }: PostgresServices,
  sharedLimits: SharedLimits,
): Promise<AccountInquiries> {
  const { log } = options.logging;
  const hasDailyQuota = [...(options.inquiries?.limitsByRail?.values() ?? [])].some(({ perDay }) => perDay !== null);
  const countInquiriesToday = () => countInquiries(database, new Date(jakartaDayStartMs(jakartaDayOf(Date.now()))));
  return createAccountInquiries(options.rails, metrics, {
    onBreakerChange({ rail, bank, state }) {
      if (state === 'open')
        log.warn({ rail, bank }, 'circuit breaker opened: account inquiries to this bank are paused; will probe');
      else if (state === 'half_open') log.info({ rail, bank }, 'circuit breaker half open: sending one probe inquiry');
      else log.info({ rail, bank }, 'circuit breaker closed: account inquiries to this bank resume');
    },
    onClientSuspended: (suspension) =>
      log.warn(
        suspension,
        'account inquiries of one client to this bank are paused: the bank fails over the accounts that it checks',
      ),
    // A restart during the day must not grant the day's quota a second time.
    ...(hasDailyQuota ? { sentToday: await countInquiriesToday() } : {}),
    sharing: { liveProcesses: processes.liveProcesses, quota: sharedLimits.quota },
    ...options.inquiries,
  });
}

/** Publishes events to clients when a bank becomes unavailable, and when it is available again. */
export function openBankAvailability(
  { options, onClose }: AppContext,
  { database }: PostgresServices,
  inquiries: AccountInquiries,
): void {
  const { banks, logging, bankAvailability: times } = options;
  const dependencies = { database, inquiries, banks, log: logging.log, ...(times === undefined ? {} : { times }) };
  onClose('bank availability', startAvailabilityPublisher(dependencies).close);
}
