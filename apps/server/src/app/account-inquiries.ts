import { startFindingsExchange } from '../bank-availability/findings-exchange.ts';
import { startAvailabilityPublisher } from '../bank-availability/publisher.ts';
import { startDailyInquiries } from '../postgres/daily-inquiries.ts';
import { type AccountInquiries, createAccountInquiries } from '../rails/account-inquiries.ts';
import type { AppContext } from './app-context.ts';
import type { PostgresServices } from './postgres.ts';
import type { SharedLimits } from './shared-limits.ts';

/** Inquires banks about accounts over the rails, and logs every change of a circuit breaker. */
export async function openAccountInquiries(
  { options, metrics, onClose }: AppContext,
  { lookUpDatabase, processes }: PostgresServices,
  sharedLimits: SharedLimits,
): Promise<AccountInquiries> {
  const { log } = options.logging;
  const hasDailyQuota = [...(options.inquiries?.limitsByRail?.values() ?? [])].some(({ perDay }) => perDay !== null);
  const { liveProcesses } = processes;
  // A restart during the day must not grant the day's quota a second time, nor may another process.
  const dailyInquiries = hasDailyQuota
    ? await startDailyInquiries({
        database: lookUpDatabase,
        liveProcesses,
        wallClock: options.inquiries?.wallClock ?? Date.now,
        paused: options.settings.paused,
        log,
      })
    : null;
  if (dailyInquiries !== null) onClose('daily inquiries', dailyInquiries.close);
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
    ...(dailyInquiries === null ? {} : { dayCountOf: dailyInquiries.countOf }),
    sharing: { liveProcesses, quota: sharedLimits.quota },
    ...options.inquiries,
  });
}

/**
 * Shares what this process finds about banks with the other processes, and publishes events to clients when a bank
 * becomes unavailable, and when it is available again.
 */
export function openBankAvailability(
  { options, onClose }: AppContext,
  { database, lookUpDatabase, bankFindingNotices, processes }: PostgresServices,
  inquiries: AccountInquiries,
): void {
  const { banks, logging, bankAvailability: times } = options;
  const exchange = startFindingsExchange({
    // As the heartbeats: it must not wait behind a feed.
    database: lookUpDatabase,
    processId: processes.processId,
    notices: bankFindingNotices,
    inquiries,
    banks,
    log: logging.log,
  });
  onClose('findings about banks', exchange.close);
  const dependencies = { database, inquiries, banks, log: logging.log, ...(times === undefined ? {} : { times }) };
  onClose('bank availability', startAvailabilityPublisher(dependencies).close);
}
