import type { AccountInquiries } from '../rails/account-inquiries.ts';
import {
  type AccountCheckServices,
  openAccountChecks,
  openAccountInquiries,
  openBankAvailability,
} from './account-checks.ts';
import { type AccountValidations, openAccountValidations } from './account-validations.ts';
import type { AppContext } from './app-context.ts';
import { type Authentication, openAuthentication } from './authentication.ts';
import { openCallbacks } from './callbacks.ts';
import { openStore, type Store } from './store.ts';
import {
  type CheckStatusServices,
  openCheckStatus,
  openTransactions,
  type TransactionServices,
} from './transactions.ts';

/** Every part of the service below its two listeners. */
export interface Services {
  readonly store: Store;
  readonly authentication: Authentication;
  readonly transactions: TransactionServices;
  readonly checkStatus: CheckStatusServices;
  readonly callbacks: ReturnType<typeof openCallbacks>;
  readonly inquiries: AccountInquiries;
  readonly accountChecks: AccountCheckServices;
  readonly accountValidations: AccountValidations;
}

/**
 * Opens the parts in the order of their dependencies, so that they close in the reverse order.
 * `publicUrl` is called only when a request arrives: it is known once the public listener is open.
 */
export async function openServices(context: AppContext, publicUrl: () => string): Promise<Services> {
  const { rails } = context.options;
  const store = await openStore(context);
  const authentication = openAuthentication(context, store, publicUrl);
  context.onClose(() => Promise.all(rails.map((rail) => rail.close())));
  const transactions = openTransactions(context, store);
  const checkStatus = openCheckStatus(context, store, authentication, transactions);
  const callbacks = openCallbacks(context, store);
  const inquiries = await openAccountInquiries(context, store);
  const accountChecks = openAccountChecks(context, store, inquiries);
  const accountValidations = openAccountValidations(context, store, authentication, {
    accountChecks: accountChecks.accountChecks,
    inquiries,
  });
  openBankAvailability(context, store, inquiries);
  return {
    store,
    authentication,
    transactions,
    checkStatus,
    callbacks,
    inquiries,
    accountChecks,
    accountValidations,
  };
}
