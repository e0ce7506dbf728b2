import type { AccountChecks } from '../account-checks/account-checks.ts';
import { createValidationRunner } from '../account-validations/runner.ts';
import { cancelOld } from '../account-validations/store.ts';
import { createUploadReader } from '../account-validations/uploads/upload-reader.ts';
import type { AccountValidationDependencies } from '../http/account-validations/dependencies.ts';
import { deleteEnded } from '../postgres/account-validations.ts';
import { startRetention } from '../postgres/retention.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import type { AppContext } from './app-context.ts';
import type { Authentication } from './authentication.ts';
import type { Store } from './store.ts';

export interface AccountValidations {
  readonly operations: Omit<AccountValidationDependencies, 'authorize' | 'banks' | 'inquiries'>;
  /** Long answers end. */
  readonly endFollowing: () => void;
}

/** A job that nothing has come of by then, because its client or its bank is gone, shall not keep names for ever. */
const RUNNING_DAYS_MAX = 30;
const ROWS_DELETED_AT_ONCE = 5_000;

/** Many accounts checked at once: jobs are read, carried out, and forgotten. */
export function openAccountValidations(
  { options, metrics, onClose }: AppContext,
  { deliveryDatabase, database }: Store,
  { reauthorizeFor }: Pick<Authentication, 'reauthorizeFor'>,
  { accountChecks, inquiries }: { readonly accountChecks: AccountChecks; readonly inquiries: AccountInquiries },
): AccountValidations {
  const { banks, settings } = options;
  const { log } = options.logging;
  const runner = createValidationRunner({
    database: deliveryDatabase,
    banks,
    accountChecks,
    inquiries,
    metrics,
    log,
  });
  const ending = startRetention({
    what: 'account validations that nothing comes of',
    days: RUNNING_DAYS_MAX,
    deleteBatch: (before) => cancelOld(database, before),
    log,
  });
  onClose(ending.stop);
  const forgetting = startRetention({
    what: 'account validations that have ended',
    days: settings.accountValidationDays,
    deleteBatch: (before) => deleteEnded(database, before, ROWS_DELETED_AT_ONCE),
    log,
  });
  onClose(forgetting.stop);
  const uploads = createUploadReader({ log });
  onClose(() => uploads.close());
  // The first to close: it takes up nothing more while the others end.
  onClose(runner.close);
  const closing = new AbortController();
  return {
    operations: {
      database,
      uploads,
      reauthorize: reauthorizeFor('account:check'),
      onStored: runner.wake,
      closing: closing.signal,
    },
    endFollowing: () => closing.abort(),
  };
}
