import { type AccountChecks, createAccountChecks } from '../account-checks/account-checks.ts';
import { createAccountHash, type HashAccount } from '../account-checks/account-hash.ts';
import { createAuditLog } from '../account-checks/audit-log.ts';
import { createEnumerationGuard, type EnumerationGuard } from '../account-checks/enumeration/enumeration-guard.ts';
import { SIGNALS } from '../account-checks/enumeration/restrictions.ts';
import { createVerdictCache } from '../account-checks/verdict-cache.ts';
import { startAvailabilityPublisher } from '../bank-availability/publisher.ts';
import { jakartaDayOf, jakartaDayStartMs } from '../domain/instant.ts';
import { countInquiries, deleteAccountChecks, readCheckedAccounts } from '../postgres/account-checks.ts';
import { startRetention } from '../postgres/retention.ts';
import { type AccountInquiries, createAccountInquiries } from '../rails/account-inquiries.ts';
import type { AppContext } from './app-context.ts';
import type { Store } from './store.ts';

/** Inquires banks about accounts over the rails, and logs every change of a circuit breaker. */
export async function openAccountInquiries(
  { options, metrics }: AppContext,
  { database }: Store,
): Promise<AccountInquiries> {
  const { log } = options.logging;
  const hasDailyQuota = [...(options.inquiries?.contracts?.values() ?? [])].some(({ perDay }) => perDay !== null);
  const countInquiriesToday = () => countInquiries(database, new Date(jakartaDayStartMs(jakartaDayOf(Date.now()))));
  return createAccountInquiries(options.rails, metrics, {
    onBreakerChange({ rail, bank, state }) {
      if (state === 'open')
        log.warn({ rail, bank }, 'circuit breaker opened: account inquiries to this bank are paused; will probe');
      else if (state === 'half_open') log.info({ rail, bank }, 'circuit breaker half open: sending one probe inquiry');
      else log.info({ rail, bank }, 'circuit breaker closed: account inquiries to this bank resume');
    },
    // A restart during the day must not grant the day's quota a second time.
    ...(hasDailyQuota ? { sentToday: await countInquiriesToday() } : {}),
    ...options.inquiries,
  });
}

/** Publishes events to clients when a bank becomes unavailable, and when it is available again. */
export function openBankAvailability(
  { options, onClose }: AppContext,
  { database }: Store,
  inquiries: AccountInquiries,
): void {
  const { banks, logging } = options;
  onClose(startAvailabilityPublisher({ database, inquiries, banks, log: logging.log }).close);
}

/** Account checks for clients: the verdict cache, the audit log and the enumeration guard in front of the inquiries. */
export interface AccountCheckServices {
  readonly accountChecks: AccountChecks;
  readonly hashAccount: HashAccount;
  readonly enumerationGuard: EnumerationGuard;
}

const AUDIT_DELETE_BATCH = 1_000;

export function openAccountChecks(
  { options, metrics, onClose }: AppContext,
  { database, clients }: Store,
  inquiries: AccountInquiries,
): AccountCheckServices {
  const { settings } = options;
  const { log } = options.logging;
  const hashAccount = createAccountHash(settings.secretKey);
  const auditLog = createAuditLog({ database, log, metrics });
  onClose(auditLog.close);
  if (settings.auditDays > 0) {
    const deleteBatch = async (before: Date): Promise<boolean> =>
      (await deleteAccountChecks(database, before.toISOString(), AUDIT_DELETE_BATCH)) === AUDIT_DELETE_BATCH;
    onClose(
      startRetention({ records: 'audit records of account checks', days: settings.auditDays, deleteBatch, log }).stop,
    );
  }
  const verdictCache = createVerdictCache(settings.verdictSeconds);
  const enumerationGuard = createEnumerationGuard({
    limitsOf(clientId) {
      const client = clients.find(clientId);
      return { accountsPerDay: client?.limits['accounts-per-day'] ?? 0, trusted: client?.trusted ?? false };
    },
    readCheckedAccounts: (clientId, since, onAccount) =>
      readCheckedAccounts(database, { clientId, since, excludedOutcomes: SIGNALS }, onAccount),
    log,
    metrics,
    ...(options.limitClock === undefined ? {} : { clock: options.limitClock }),
    ...options.enumerationGuard,
  });
  onClose(async () => enumerationGuard.close());
  const accountChecks = createAccountChecks({ inquiries, verdictCache, hashAccount, auditLog, enumerationGuard });
  return { accountChecks, hashAccount, enumerationGuard };
}
