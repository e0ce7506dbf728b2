import { type AccountChecks, createAccountChecks } from '../account-checks/account-checks.ts';
import { createAccountHash, type HashAccount } from '../account-checks/account-hash.ts';
import { createAuditLog } from '../account-checks/audit-log.ts';
import { createEnumerationGuard, type EnumerationGuard } from '../account-checks/enumeration/enumeration-guard.ts';
import { SIGNALS } from '../account-checks/enumeration/signals.ts';
import { createVerdictCache } from '../account-checks/verdict-cache.ts';
import { deleteAccountChecks, readAskedAccounts } from '../postgres/account-checks.ts';
import { startRetention } from '../postgres/retention.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import type { AppContext } from './app-context.ts';
import type { Store } from './store.ts';

/** What stands between whoever asks about accounts for a client, and the banks. */
export interface AccountCheckServices {
  readonly accountChecks: AccountChecks;
  readonly hashAccount: HashAccount;
  readonly enumerationGuard: EnumerationGuard;
}

const DELETED_AT_ONCE = 1_000;

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
      (await deleteAccountChecks(database, before.toISOString(), DELETED_AT_ONCE)) === DELETED_AT_ONCE;
    onClose(startRetention({ what: 'records of account checks', days: settings.auditDays, deleteBatch, log }).stop);
  }
  const verdictCache = createVerdictCache(settings.verdictSeconds);
  const enumerationGuard = createEnumerationGuard({
    boundsOf(clientId) {
      const client = clients.find(clientId);
      return { accountsPerDay: client?.limits['accounts-per-day'] ?? 0, trusted: client?.trusted ?? false };
    },
    recall: (clientId, since, tell) => readAskedAccounts(database, { clientId, since, unlike: SIGNALS }, tell),
    log,
    metrics,
    ...(options.limitClock === undefined ? {} : { clock: options.limitClock }),
    ...options.enumerationGuard,
  });
  onClose(async () => enumerationGuard.close());
  const accountChecks = createAccountChecks({ inquiries, verdictCache, hashAccount, auditLog, enumerationGuard });
  return { accountChecks, hashAccount, enumerationGuard };
}
