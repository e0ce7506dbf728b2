import type { DocumentationDependencies } from '../http/documentation/documentation.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import type { Rail } from '../rails/rail.ts';
import { type AccountCheckServices, openAccountChecks } from './account-checks.ts';
import { type AgreedOptions, openAccountInquiries, openBankAvailability } from './account-inquiries.ts';
import { type AccountValidations, openAccountValidations } from './account-validations.ts';
import type { AppContext } from './app-context.ts';
import { openArchive } from './archive.ts';
import { type Authentication, openAuthentication } from './authentication.ts';
import { type Callbacks, openCallbacks } from './callbacks.ts';
import { type CheckStatusServices, openCheckStatus } from './check-status.ts';
import { describeDocumentation } from './documentation.ts';
import { openPostgresServices, type PostgresServices } from './postgres.ts';
import { openRails } from './rails.ts';
import { openTransactionRetention } from './retention.ts';
import { openSharedLimits, type SharedLimits } from './shared-limits.ts';
import { openTransactions, type TransactionServices } from './transactions.ts';

/** Every part of the service below its two listeners. */
export interface Services {
  readonly postgres: PostgresServices;
  readonly sharedLimits: SharedLimits;
  readonly authentication: Authentication;
  readonly transactions: TransactionServices;
  readonly checkStatus: CheckStatusServices;
  readonly callbacks: Callbacks;
  readonly inquiries: AccountInquiries;
  readonly accountChecks: AccountCheckServices;
  readonly accountValidations: AccountValidations;
  readonly documentation: DocumentationDependencies;
  /** Uses these rails from now on, and closes those that are not among them. @throws DatabaseUnavailable */
  replaceRails(rails: readonly Rail[], agreed: AgreedOptions): Promise<void>;
}

/**
 * Opens the parts in the order of their dependencies, so that they close in the reverse order.
 * `publicUrl` is called only when a request arrives: it is known once the public listener is open.
 */
export async function openServices(context: AppContext, publicUrl: () => string): Promise<Services> {
  const postgres = await openPostgresServices(context);
  const sharedLimits = await openSharedLimits(context, postgres);
  const authentication = openAuthentication(context, postgres, { sharedLimits, publicUrl });
  const openedRails = openRails(context);
  const transactions = openTransactions(context, postgres);
  await openArchive(context, postgres.database);
  openTransactionRetention(context, postgres.database);
  const checkStatus = openCheckStatus(context, postgres, { authentication, transactions, sharedLimits });
  const callbacks = openCallbacks(context, postgres, sharedLimits);
  const { inquiries, replaceRails } = await openAccountInquiries(context, postgres, sharedLimits);
  const accountChecks = openAccountChecks(context, postgres, { inquiries, sharedLimits });
  const accountValidations = openAccountValidations(context, postgres, authentication, {
    accountChecks: accountChecks.accountChecks,
    inquiries,
    sharedLimits,
  });
  if (!context.options.settings.paused) openBankAvailability(context, postgres, inquiries);
  return {
    postgres,
    sharedLimits,
    authentication,
    transactions,
    checkStatus,
    callbacks,
    inquiries,
    accountChecks,
    accountValidations,
    documentation: describeDocumentation(context, publicUrl),
    async replaceRails(rails, agreed) {
      await replaceRails(rails, agreed);
      transactions.statusInquiries.replaceRails(rails);
      openedRails.replace(rails);
    },
  };
}
