import { type AccountChecks, createAccountChecks } from '../account-checks/account-checks.ts';
import { createAccountHash, type HashAccount } from '../account-checks/account-hash.ts';
import { createAuditLog } from '../account-checks/audit-log.ts';
import { createEnumerationGuard, type EnumerationGuard } from '../account-checks/enumeration/enumeration-guard.ts';
import { ENUMERATION_SIGNALS } from '../account-checks/enumeration/restrictions.ts';
import { createSharedVerdicts } from '../account-checks/shared-verdicts.ts';
import { createVerdictCache } from '../account-checks/verdict-cache.ts';
import { deleteAccountChecks, findOldestAccountCheck, readCheckedAccounts } from '../postgres/account-checks.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import type { AppContext } from './app-context.ts';
import type { PostgresServices } from './postgres.ts';
import { openRetention } from './retention.ts';
import type { SharedLimits } from './shared-limits.ts';

/** Account checks for clients: the verdict cache, the audit log and the enumeration guard in front of the inquiries. */
export interface AccountCheckServices {
  readonly accountChecks: AccountChecks;
  readonly hashAccount: HashAccount;
  readonly enumerationGuard: EnumerationGuard;
}

const AUDIT_DELETE_BATCH = 1_000;

export function openAccountChecks(
  context: AppContext,
  { database, clients, dataKey, now }: PostgresServices,
  {
    inquiries,
    sharedLimits: { checkLog, cache },
  }: { readonly inquiries: AccountInquiries; readonly sharedLimits: Pick<SharedLimits, 'checkLog' | 'cache'> },
): AccountCheckServices {
  const { options, metrics, onClose } = context;
  const { settings } = options;
  const { log } = options.logging;
  const hashAccount = createAccountHash(dataKey);
  const auditLog = createAuditLog({ database, log, metrics });
  onClose('audit log', auditLog.close);
  openRetention(context, {
    database,
    records: 'account_checks',
    days: settings.auditDays,
    deleteBatch: (before) => deleteAccountChecks(database, before.toISOString(), AUDIT_DELETE_BATCH),
    findOldest: () => findOldestAccountCheck(database),
  });
  const { verdictSeconds } = settings;
  const verdictCache = createVerdictCache({
    ttlSeconds: verdictSeconds,
    shared:
      cache === null ? null : createSharedVerdicts({ cache, dataKey, ttlSeconds: verdictSeconds, wallClock: now }),
  });
  const enumerationGuard = createEnumerationGuard({
    limitsOf(clientId) {
      const client = clients.find(clientId);
      return { accountsPerDay: client?.limits['accounts-per-day'] ?? 0, trusted: client?.trusted ?? false };
    },
    readCheckedAccounts: (clientId, since, onAccount) =>
      readCheckedAccounts(database, { clientId, since, excludedOutcomes: ENUMERATION_SIGNALS }, onAccount),
    checkLog,
    hashAccount,
    log,
    metrics,
    wallClock: now,
    ...(options.limitClock === undefined ? {} : { clock: options.limitClock }),
    ...options.enumerationGuard,
  });
  onClose('enumeration guard', async () => enumerationGuard.close());
  const accountChecks = createAccountChecks({ inquiries, verdictCache, hashAccount, auditLog, enumerationGuard, now });
  onClose('account checks', accountChecks.close);
  return { accountChecks: settings.paused ? pause(accountChecks) : accountChecks, hashAccount, enumerationGuard };
}

/** Nothing is asked, so nothing is counted and audited. */
const pause = (accountChecks: AccountChecks): AccountChecks => ({
  ...accountChecks,
  check: () => Promise.resolve({ kind: 'no_verdict', reason: 'paused', railCode: null }),
});
