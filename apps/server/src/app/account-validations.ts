import type { AccountChecks } from '../account-checks/account-checks.ts';
import { createValidationRunner } from '../account-validations/runner.ts';
import { createUploadReader } from '../account-validations/uploads/upload-reader.ts';
import { cancelOldValidations } from '../account-validations/validation-writes.ts';
import type { AccountValidationDependencies } from '../http/account-validations/operation.ts';
import { createOpenWaits } from '../http/open-waits.ts';
import { deleteEndedValidations } from '../postgres/account-validations.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import type { AppContext } from './app-context.ts';
import type { Authentication } from './authentication.ts';
import type { PostgresServices } from './postgres.ts';
import { openRetention } from './retention.ts';
import type { SharedLimits } from './shared-limits.ts';

export interface AccountValidations {
  readonly operations: Omit<AccountValidationDependencies, 'authorize' | 'banks' | 'inquiries'>;
  /** Ends the streams of results and progress. */
  readonly endStreams: () => void;
}

interface OpenAccountValidationsDependencies {
  readonly accountChecks: AccountChecks;
  readonly inquiries: AccountInquiries;
  readonly sharedLimits: Pick<SharedLimits, 'createConcurrencyLimiter'>;
}

/**
 * A validation that has not ended by then is cancelled: its client or its bank is gone, and the account names in it
 * must not be kept without end.
 */
const RUNNING_DAYS_MAX = 30;
const ROWS_DELETE_BATCH = 5_000;

/** Bulk validations of accounts: reads the uploads, runs the validations, and deletes them after the retention time. */
export function openAccountValidations(
  context: AppContext,
  { deliveryDatabase, database, now }: PostgresServices,
  { reauthorizeFor }: Pick<Authentication, 'reauthorizeFor'>,
  { accountChecks, inquiries, sharedLimits }: OpenAccountValidationsDependencies,
): AccountValidations {
  const { options, metrics, tracing, onClose } = context;
  const { banks, settings } = options;
  const { log } = options.logging;
  const runner = settings.paused
    ? null
    : createValidationRunner({
        database: deliveryDatabase,
        banks,
        accountChecks,
        inquiries,
        now,
        metrics,
        log,
        tracing,
      });
  openRetention(context, {
    database,
    records: 'running_validations',
    days: RUNNING_DAYS_MAX,
    deleteBatch: (before) => cancelOldValidations(database, before),
  });
  openRetention(context, {
    database,
    records: 'account_validations',
    days: settings.accountValidationDays,
    deleteBatch: (before) => deleteEndedValidations(database, before, ROWS_DELETE_BATCH),
  });
  const uploads = createUploadReader({ log });
  onClose('upload reader', () => uploads.close());
  // Registered last so that it closes first: it claims no more rows while the others close.
  if (runner !== null) onClose('validation runner', runner.close);
  const closing = new AbortController();
  return {
    operations: {
      database,
      accountChecks,
      now,
      uploads,
      reauthorize: reauthorizeFor('account:check'),
      openStreams: createOpenWaits(sharedLimits.createConcurrencyLimiter('streams')),
      onCreated({ clientId, validationId }, span) {
        if (span !== undefined) tracing?.causes.remember(clientId, validationId, span);
        runner?.wake();
      },
      closing: closing.signal,
    },
    endStreams: () => closing.abort(),
  };
}
