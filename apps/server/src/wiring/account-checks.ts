import { type AccountChecks, createAccountChecks } from '../account-checks/account-checks.ts';
import { createAccountHash, type HashAccount } from '../account-checks/account-hash.ts';
import { createCheckRecords } from '../account-checks/check-records.ts';
import { createHarvesting, type Harvesting } from '../account-checks/harvesting/harvesting.ts';
import { SIGNS } from '../account-checks/harvesting/signs.ts';
import { createKeptVerdicts } from '../account-checks/kept-verdicts.ts';
import { deleteAccountChecks, readAskedAccounts } from '../postgres/account-checks.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import { startRetention } from '../retention.ts';
import type { Stage } from './parts.ts';
import type { Store } from './store.ts';

/** What stands between whoever asks about accounts for a client, and the banks. */
export interface CheckingAccounts {
  readonly accountChecks: AccountChecks;
  readonly hashAccount: HashAccount;
  readonly harvesting: Harvesting;
}

const DELETED_AT_ONCE = 1_000;

export function openAccountChecks(
  { options, metrics, onClose }: Stage,
  { database, clients }: Store,
  inquiries: AccountInquiries,
): CheckingAccounts {
  const { settings } = options;
  const { log } = options.logging;
  const hashAccount = createAccountHash(settings.secretKey);
  const records = createCheckRecords({ database, log, metrics });
  onClose(records.close);
  if (settings.auditDays > 0) {
    const clearSome = async (before: Date): Promise<boolean> =>
      (await deleteAccountChecks(database, before.toISOString(), DELETED_AT_ONCE)) === DELETED_AT_ONCE;
    onClose(startRetention({ what: 'records of account checks', days: settings.auditDays, clearSome, log }).stop);
  }
  const keptVerdicts = createKeptVerdicts(settings.verdictSeconds);
  const harvesting = createHarvesting({
    boundsOf(clientId) {
      const client = clients.find(clientId);
      return { accountsPerDay: client?.limits['accounts-per-day'] ?? 0, trusted: client?.trusted ?? false };
    },
    recall: (clientId, since, tell) => readAskedAccounts(database, { clientId, since, unlike: SIGNS }, tell),
    log,
    metrics,
    ...(options.limitClock === undefined ? {} : { clock: options.limitClock }),
    ...options.harvesting,
  });
  onClose(async () => harvesting.close());
  const accountChecks = createAccountChecks({ inquiries, keptVerdicts, hashAccount, records, harvesting });
  return { accountChecks, hashAccount, harvesting };
}
