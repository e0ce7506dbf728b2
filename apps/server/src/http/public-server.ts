import type { FastifyInstance } from 'fastify';
import type { BankDirectory } from '../domain/bank.ts';
import type { Database } from '../postgres/database.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import { createSlidingWindow, type MonotonicClock } from '../rate-limit/sliding-window.ts';
import { type ListAccountChecksDependencies, listAccountChecksOperation } from './account-checks/list.ts';
import { accountValidationOperations } from './account-validations/account-validations.ts';
import type { AccountValidationDependencies } from './account-validations/operation.ts';
import type { Authorize } from './authorize.ts';
import { type BankDependencies, bankOperations } from './banks/banks.ts';
import { callbackOperations } from './callbacks/callbacks.ts';
import type { CallbackDependencies } from './callbacks/operation.ts';
import { type CheckAccountDependencies, checkAccount } from './check-account/check-account.ts';
import { type CheckStatusDependencies, checkStatus } from './check-status/check-status.ts';
import { createDirectStatusCheck, type DirectStatusCheckDependencies } from './check-status/direct.ts';
import { type DocumentationDependencies, publishDocumentation } from './documentation/documentation.ts';
import { eventOperations } from './events/events.ts';
import { authorizationServerMetadata, type BuiltInIssuer, tokenEndpoint } from './oauth/authorization-server.ts';
import { describeApi } from './openapi/describe-api.ts';
import { publicApi } from './openapi/public-api.ts';
import { publishDescription } from './openapi/publish-api.ts';
import { publishReferencePage } from './openapi/reference-page.ts';
import { createFileCounter, createFileSender } from './published-files.ts';
import { readJsonBodies } from './request-body.ts';
import { createServer, type ListenerOptions } from './server.ts';
import { type ListTransactionsDependencies, listTransactionsOperation } from './transactions/list.ts';

export interface PublicServerDependencies {
  readonly listener: Omit<ListenerOptions, 'name'>;
  readonly authorize: Authorize;
  readonly database: Database;
  readonly callbacks: Omit<CallbackDependencies, 'authorize' | 'database'>;
  readonly status: Omit<CheckStatusDependencies, 'authorize'>;
  readonly directStatusCheck: Pick<DirectStatusCheckDependencies, 'authenticator' | 'limiter'>;
  readonly banks: BankDirectory;
  readonly inquiries: AccountInquiries;
  readonly processingTimes: BankDependencies['processingTimes'];
  readonly validations: Omit<AccountValidationDependencies, 'authorize' | 'banks' | 'inquiries'>;
  readonly accountChecks: CheckAccountDependencies['accountChecks'];
  readonly hashAccount: ListAccountChecksDependencies['hashAccount'];
  readonly cursors: ListTransactionsDependencies['cursors'];
  /** For exports of transactions. */
  readonly reauthorize: ListTransactionsDependencies['reauthorize'];
  readonly openExports: ListTransactionsDependencies['openExports'];
  /** Null when an external issuer issues the tokens. */
  readonly issuer: BuiltInIssuer | null;
  readonly limitClock: MonotonicClock;
  readonly documentation: DocumentationDependencies;
}

/** A page of the documentation has some twenty files, and fetches in advance those of the pages that it links to. */
const SITE_FILES_PER_MINUTE = 1_200;

/** The listener for clients: the operations of the API, login, and the API's OpenAPI description. */
export async function createPublicServer(dependencies: PublicServerDependencies): Promise<FastifyInstance> {
  const directRoute = createDirectStatusCheck({ ...dependencies.status, ...dependencies.directStatusCheck });
  const app = createServer({ ...dependencies.listener, name: 'public', directRoute });
  readJsonBodies(app);

  await describeApi(app, publicApi(dependencies.issuer !== null));
  checkStatus(app, { ...dependencies.status, authorize: dependencies.authorize });
  listTransactionsOperation(app, dependencies);
  checkAccount(app, dependencies);
  listAccountChecksOperation(app, dependencies);
  bankOperations(app, dependencies);
  const { authorize, banks, inquiries } = dependencies;
  await accountValidationOperations(app, { ...dependencies.validations, authorize, banks, inquiries });
  eventOperations(app, dependencies.authorize, dependencies.database);
  callbackOperations(app, {
    ...dependencies.callbacks,
    authorize: dependencies.authorize,
    database: dependencies.database,
  });
  if (dependencies.issuer !== null) {
    tokenEndpoint(app, { ...dependencies.issuer.endpoint, issue: dependencies.issuer.issue });
    authorizationServerMetadata(app, dependencies.issuer.url, dependencies.issuer.keys);
  }
  const sendFile = createFileSender(createSlidingWindow(dependencies.limitClock));
  publishDescription(app, '/openapi.json', sendFile);
  publishReferencePage(app, sendFile);
  const countSiteFile = createFileCounter(createSlidingWindow(dependencies.limitClock), SITE_FILES_PER_MINUTE);
  publishDocumentation(app, countSiteFile, dependencies.documentation);
  app.answerOtherMethods();
  return app;
}
