import { startFindingsExchange } from '../bank-availability/findings-exchange.ts';
import { startHourlyCounts } from '../bank-availability/hourly-counts.ts';
import { startAvailabilityPublisher } from '../bank-availability/publisher.ts';
import type { Log } from '../observability/log.ts';
import { deleteBankHistory, findOldestBankHour } from '../postgres/bank-hours.ts';
import { type DailyInquiries, startDailyInquiries } from '../postgres/daily-inquiries.ts';
import {
  type AccountInquiries,
  type AccountInquiriesOptions,
  createAccountInquiries,
} from '../rails/account-inquiries.ts';
import type { Rail } from '../rails/rail.ts';
import type { BreakerChange, RailOptions } from '../rails/resilience/guards.ts';
import type { AppContext } from './app-context.ts';
import type { PostgresServices } from './postgres.ts';
import { openRetention } from './retention.ts';
import type { SharedLimits } from './shared-limits.ts';

/** Account inquiries, and the way to other rails while they go on. */
export interface OpenAccountInquiries {
  readonly inquiries: AccountInquiries;
  /** Uses these rails from now on. @throws DatabaseUnavailable: their daily quotas cannot be read, nothing changed */
  replaceRails(rails: readonly Rail[], options: AgreedOptions): Promise<void>;
}

/** What the rails file says about its rails together. */
export type AgreedOptions = Pick<AccountInquiriesOptions, 'routes' | 'limitsByRail'>;

/** Inquires banks about accounts over the rails, and logs every change of a circuit breaker. */
export async function openAccountInquiries(
  context: AppContext,
  postgres: PostgresServices,
  sharedLimits: SharedLimits,
): Promise<OpenAccountInquiries> {
  const { options, metrics } = context;
  const { log } = options.logging;
  const { liveProcesses } = postgres.processes;
  let daily: DailyInquiries | null = null;
  context.onClose('daily inquiries', async () => daily?.close());

  /** Counts the days once a rail has a daily quota. */
  async function withDays(agreed: AgreedOptions): Promise<RailOptions> {
    if (daily === null && hasDailyQuota(agreed)) daily = await countDailyInquiries(context, postgres);
    return { ...agreed, ...(daily === null ? {} : { dayCountOf: daily.countOf }) };
  }

  const inquiries = createAccountInquiries(options.rails, metrics, {
    onBreakerChange: (change) => logBreakerChange(log, change),
    onClientSuspended: (suspension) =>
      log.warn(
        suspension,
        'account inquiries of one client to this bank are paused: the bank fails over the accounts that it checks',
      ),
    ...(await withDays(options.inquiries ?? {})),
    sharing: { liveProcesses, quota: sharedLimits.quota },
    wallClock: postgres.now,
    ...options.inquiries,
  });
  openBankHistory(context, postgres, inquiries);
  return {
    inquiries,
    replaceRails: async (rails, agreed) => inquiries.replaceRails(rails, await withDays(agreed)),
  };
}

function logBreakerChange(log: Log, { rail, bank, state, opening }: BreakerChange): void {
  const fields = opening === null ? { rail, bank } : { rail, bank, probeInMs: opening.probeInMs };
  if (state === 'closed') log.info(fields, 'circuit breaker closed: account inquiries to this bank resume');
  else if (state === 'half_open') log.info(fields, 'circuit breaker half open: sending one probe inquiry');
  else if (opening?.isProbeFailure === true)
    log.warn(fields, 'probe inquiry failed: account inquiries to this bank stay paused; will probe again');
  else log.warn(fields, 'circuit breaker opened: account inquiries to this bank are paused; will probe');
}

/** For operators, who are asked which bank was down last week. */
const BANK_HISTORY_DAYS = 90;
const BANK_HISTORY_BATCH = 1_000;

/** Stores how banks answered hour by hour. It closes after what causes inquiries, so that none is missing. */
function openBankHistory(
  context: AppContext,
  { database, processes: { processId }, now }: PostgresServices,
  inquiries: AccountInquiries,
): void {
  const { logging, bankAvailability } = context.options;
  const { log } = logging;
  const intervalMs = bankAvailability?.storeIntervalMs;
  const hourlyCounts = startHourlyCounts({ database, processId, inquiries, now, log, intervalMs });
  context.onClose('hourly counts of account inquiries', hourlyCounts.close);
  openRetention(context, {
    database,
    records: 'bank_hours',
    days: BANK_HISTORY_DAYS,
    deleteBatch: (before) => deleteBankHistory(database, before, BANK_HISTORY_BATCH),
    findOldest: () => findOldestBankHour(database),
  });
}

const hasDailyQuota = ({ limitsByRail }: AgreedOptions): boolean =>
  [...(limitsByRail?.values() ?? [])].some(({ perDay }) => perDay !== null);

/** A restart during the day must not grant the day's quota a second time, nor may another process. */
const countDailyInquiries = (
  { options }: AppContext,
  { lookUpDatabase, processes, now }: PostgresServices,
): Promise<DailyInquiries> =>
  startDailyInquiries({
    database: lookUpDatabase,
    liveProcesses: processes.liveProcesses,
    wallClock: options.inquiries?.wallClock ?? now,
    paused: options.settings.paused,
    log: options.logging.log,
  });

/**
 * Shares what this process finds about banks with the other processes, and publishes events to clients when a bank
 * becomes unavailable, and when it is available again.
 */
export function openBankAvailability(
  { options, onClose }: AppContext,
  { database, lookUpDatabase, bankFindingNotices, processes, now }: PostgresServices,
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
  const dependencies = { database, inquiries, banks, now, log: logging.log, ...(times === undefined ? {} : { times }) };
  onClose('bank availability', startAvailabilityPublisher(dependencies).close);
}
