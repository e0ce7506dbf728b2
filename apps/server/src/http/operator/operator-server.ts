import type { FastifyInstance } from 'fastify';
import type { HashAccount } from '../../account-checks/account-hash.ts';
import type { EnumerationGuard } from '../../account-checks/enumeration/enumeration-guard.ts';
import type { BankDirectory } from '../../domain/bank.ts';
import type { Feed } from '../../feed/feed.ts';
import type { Database } from '../../postgres/database.ts';
import type { AccountInquiries } from '../../rails/account-inquiries.ts';
import type { Authorize } from '../authorize.ts';
import { collectMethods } from '../method-not-allowed.ts';
import { readJsonBodies } from '../request-body.ts';
import { createServer, type ListenerOptions } from '../server.ts';
import { searchAccountChecks } from './account-checks.ts';
import { listRestrictedClients } from './enumeration.ts';
import { receiveFeed } from './feed.ts';
import { healthEndpoints, type ReadinessChecks } from './health.ts';
import { operatorLists } from './lists.ts';
import { listRails } from './rails.ts';

export interface OperatorServerDependencies {
  readonly listener: Omit<ListenerOptions, 'name' | 'requestTimeoutMs'>;
  readonly authorize: Authorize;
  readonly database: Database;
  readonly feed: Feed;
  readonly inquiries: Pick<AccountInquiries, 'snapshot'>;
  readonly banks: BankDirectory;
  readonly hashAccount: HashAccount;
  readonly enumerationGuard: Pick<EnumerationGuard, 'restrictedClients'>;
  readonly readiness: ReadinessChecks;
  /** Further routes of the operator listener. The sandbox adds its own; production passes none. */
  readonly operatorRoutes?: OperatorRoutes;
}

/** Registers routes on the operator listener. Each of them calls `authorize` for the scope it requires. */
export type OperatorRoutes = (server: FastifyInstance, authorize: Authorize) => void;

/** The listener for the operator's own systems; what the outside may reach is a matter of a port, not of care. */
export function createOperatorServer(dependencies: OperatorServerDependencies): FastifyInstance {
  const app = createServer({ ...dependencies.listener, name: 'operator', requestTimeoutMs: 0 });
  const answerOtherMethods = collectMethods(app);
  readJsonBodies(app);
  receiveFeed(app, dependencies.authorize, dependencies.feed);
  operatorLists(app, dependencies.authorize, dependencies.database);
  searchAccountChecks(app, dependencies);
  listRestrictedClients(app, dependencies.authorize, dependencies.enumerationGuard);
  listRails(app, dependencies.authorize, dependencies.inquiries);
  healthEndpoints(app, dependencies.readiness, dependencies.listener.metrics);
  dependencies.operatorRoutes?.(app, dependencies.authorize);
  answerOtherMethods();
  return app;
}
