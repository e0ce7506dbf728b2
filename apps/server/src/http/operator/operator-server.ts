import type { FastifyInstance } from 'fastify';
import type { HashAccount } from '../../account-checks/account-hash.ts';
import type { EnumerationGuard } from '../../account-checks/enumeration/enumeration-guard.ts';
import type { FailureThrottle } from '../../auth/failure-throttle.ts';
import type { OperatorSessions } from '../../auth/operator-sessions.ts';
import type { BankDirectory } from '../../domain/bank.ts';
import type { Database } from '../../postgres/database.ts';
import type { AccountInquiries } from '../../rails/account-inquiries.ts';
import type { Limiter } from '../../rate-limit/limiter.ts';
import { createSlidingWindow, type MonotonicClock } from '../../rate-limit/sliding-window.ts';
import type { StatusInquiries } from '../../status-inquiry/status-inquiries.ts';
import type { Authorize } from '../authorize.ts';
import type { CallbackDependencies } from '../callbacks/operation.ts';
import { CONSOLE_FILES_PER_MINUTE, publishConsole } from '../console/console.ts';
import type { Cursors } from '../cursors.ts';
import { operatorErrorForm } from '../envelope.ts';
import { type BuiltInIssuer, OPERATOR_LISTENER, tokenEndpoint } from '../oauth/authorization-server.ts';
import { describeApi } from '../openapi/describe-api.ts';
import { operatorApi } from '../openapi/operator-api.ts';
import { publishDescription } from '../openapi/publish-api.ts';
import { createFileSender } from '../published-files.ts';
import { readJsonBodies } from '../request-body.ts';
import { createServer, type ListenerOptions } from '../server.ts';
import { searchAccountChecks } from './account-checks.ts';
import { listAccountValidations } from './account-validations.ts';
import { listAudit } from './audit.ts';
import { readBankAvailability } from './bank-availability.ts';
import { listUndeliveredCallbacks } from './callbacks/deliveries.ts';
import { listCallbackEndpoints } from './callbacks/endpoints.ts';
import { callbackReplays } from './callbacks/replays.ts';
import { resendDelivery } from './callbacks/resend-delivery.ts';
import { operatorClients } from './clients/clients.ts';
import { clientEndpoints } from './clients/endpoints.ts';
import { readClients } from './clients/read-clients.ts';
import { clientSecrets } from './clients/secrets.ts';
import { clientSnap } from './clients/snap.ts';
import { type ConsoleSettings, showConsoleSettings } from './console-settings.ts';
import { listRestrictedClients } from './enumeration.ts';
import { type FeedOperationDependencies, receiveFeed } from './feed/feed.ts';
import { createFourEyes, type FourEyesOptions } from './four-eyes/four-eyes.ts';
import { proposals } from './four-eyes/proposals.ts';
import { type HealthDependencies, healthEndpoints } from './health.ts';
import { createBrowserSessions } from './login/browser-sessions.ts';
import { type LoginPagesDependencies, loginPages } from './login/login.ts';
import { loginErrorForm } from './login/login-form.ts';
import { ownSession } from './login/session.ts';
import { createSessionCookie } from './login/session-cookie.ts';
import type { OperatorLimits } from './operator-limits.ts';
import { showOverview } from './overview.ts';
import { listLiveProcesses } from './processes.ts';
import { listRails } from './rails.ts';
import { peopleSessions } from './sessions.ts';
import { signingKeys } from './signing-keys.ts';
import { transactionActions } from './transactions/actions.ts';
import { listTransactions } from './transactions/overdue-and-reviews.ts';
import { readTransaction } from './transactions/read-transaction.ts';
import { resolveReview } from './transactions/resolve-review.ts';
import { searchAllTransactions } from './transactions/search-transactions.ts';

export interface OperatorServerDependencies extends FeedOperationDependencies {
  readonly listener: Omit<ListenerOptions, 'name'>;
  readonly authorize: Authorize;
  readonly throttle: FailureThrottle;
  readonly loginLimiter: Limiter;
  readonly database: Database;
  readonly inquiries: Pick<AccountInquiries, 'snapshot'>;
  readonly banks: BankDirectory;
  readonly hashAccount: HashAccount;
  readonly cursors: Cursors;
  readonly inquireNow: StatusInquiries['inquireNow'];
  readonly enumerationGuard: Pick<EnumerationGuard, 'restrictedClients'>;
  readonly health: Omit<HealthDependencies, 'metrics'>;
  readonly processId: string;
  readonly people: PeopleDependencies;
  readonly limits: OperatorLimits;
  readonly console: ConsoleSettings;
  readonly callbackDays: number;
  /** Whether callbacks may be sent to a URL. */
  readonly validateUrl: CallbackDependencies['validateUrl'];
  /** Null when an external issuer issues the tokens. */
  readonly issuer: Pick<BuiltInIssuer, 'issue' | 'endpoint'> | null;
  readonly limitClock: MonotonicClock;
  /** Further routes of the operator listener. The sandbox adds its own; production passes none. */
  readonly operatorRoutes?: OperatorRoutes;
}

/** How people, and not machines, use the listener. */
export interface PeopleDependencies {
  readonly sessions: OperatorSessions;
  readonly idleSeconds: number;
  readonly login: Pick<LoginPagesDependencies, 'provider' | 'hasLinks' | 'seal'>;
  /** Whether browsers reach the listener over TLS. */
  readonly isSecure: boolean;
  readonly fourEyes: Omit<FourEyesOptions, 'database'>;
}

/** Registers routes on the operator listener. Each of them calls `authorize` for the scope it requires. */
export type OperatorRoutes = (server: FastifyInstance, authorize: Authorize) => void;

/**
 * The listener for the operator's own systems. It has a port of its own, so that clients cannot reach it by mistake.
 */
export async function createOperatorServer(given: OperatorServerDependencies): Promise<FastifyInstance> {
  const { listener, database, people } = given;
  const cookie = createSessionCookie(people.isSecure);
  const browserSessions = createBrowserSessions(given.authorize, {
    sessions: people.sessions,
    cookie,
    throttle: given.throttle,
  });
  const { authorize } = browserSessions;
  const dependencies = { ...given, authorize };
  const fourEyes = createFourEyes({ ...people.fourEyes, database });
  const app = createServer({ errorForm: loginErrorForm(operatorErrorForm), ...listener, name: 'operator' });
  readJsonBodies(app);
  await describeApi(app, operatorApi(dependencies.issuer !== null));
  // The same clients, secrets and throttle as on the public listener, for systems that reach only this one.
  if (dependencies.issuer !== null)
    tokenEndpoint(app, { ...dependencies.issuer.endpoint, issue: dependencies.issuer.issue }, OPERATOR_LISTENER);
  receiveFeed(app, authorize, dependencies, listener.slowPeers?.feedLineMs);
  listCallbackEndpoints(app, authorize, database);
  searchAllTransactions(app, dependencies);
  readTransaction(app, dependencies);
  transactionActions(app, dependencies);
  listUndeliveredCallbacks(app, dependencies);
  resolveReview(app, { authorize, database, fourEyes });
  resendDelivery(app, dependencies);
  callbackReplays(app, { ...dependencies, fourEyes });
  const { seal } = people.login;
  readClients(app, dependencies);
  operatorClients(app, { authorize, database, fourEyes });
  clientSecrets(app, { authorize, database, fourEyes });
  clientEndpoints(app, { authorize, database, fourEyes, seal, validateUrl: given.validateUrl });
  clientSnap(app, { authorize, database, fourEyes, seal });
  if (dependencies.issuer !== null) signingKeys(app, { authorize, fourEyes, seal });
  listAudit(app, dependencies);
  listTransactions(app, authorize, database);
  listAccountValidations(app, authorize, database);
  searchAccountChecks(app, dependencies);
  listRestrictedClients(app, authorize, dependencies.enumerationGuard);
  listRails(app, authorize, dependencies.inquiries);
  readBankAvailability(app, dependencies);
  listLiveProcesses(app, authorize, database, dependencies.processId);
  ownSession(app, { database, sessions: people.sessions, browserSessions, cookie, fourEyes: people.fourEyes.kinds });
  proposals(app, { ...dependencies, fourEyes, requireRole: browserSessions.requireRole });
  peopleSessions(app, { authorize, database, idleSeconds: people.idleSeconds });
  loginPages(app, {
    ...people.login,
    database,
    sessions: people.sessions,
    cookie,
    isSecure: people.isSecure,
    loginLimiter: given.loginLimiter,
    log: listener.log,
  });
  const renderMetrics = healthEndpoints(app, { ...dependencies.health, metrics: listener.metrics });
  const { parent } = dependencies.health;
  showOverview(app, { ...dependencies, renderMetrics, source: parent?.parentId ?? dependencies.processId });
  showConsoleSettings(app, authorize, dependencies.console);
  dependencies.operatorRoutes?.(app, authorize);
  publishDescription(app, '/openapi-operator.json', createFileSender(createSlidingWindow(dependencies.limitClock)));
  publishConsole(app, createFileSender(createSlidingWindow(dependencies.limitClock), CONSOLE_FILES_PER_MINUTE));
  app.answerOtherMethods();
  return app;
}
