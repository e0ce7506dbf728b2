import type { FastifyInstance } from 'fastify';
import type { HashAccount } from '../../account-checks/account-hash.ts';
import type { Harvesting } from '../../account-checks/harvesting/harvesting.ts';
import type { BankDirectory } from '../../domain/bank.ts';
import type { Feed } from '../../feed/feed.ts';
import type { Database } from '../../postgres/database.ts';
import type { AccountInquiries } from '../../rails/account-inquiries.ts';
import type { DemoCore } from '../../sandbox/demo-core.ts';
import type { Gate } from '../gate.ts';
import { readJsonBodies } from '../json-body.ts';
import { createListener, type ListenerOptions } from '../listener.ts';
import { refuseOtherMethods } from '../other-methods.ts';
import { findChecks } from './account-checks.ts';
import { feedTransactions } from './feed.ts';
import { operatorHarvesting } from './harvesting.ts';
import { health, type ReadinessChecks } from './health.ts';
import { operatorLists } from './lists.ts';
import { operatorRails } from './rails.ts';
import { sandboxOperations } from './sandbox.ts';

export interface OperatorParts {
  readonly listener: Omit<ListenerOptions, 'name' | 'requestTimeoutMs'>;
  readonly gate: Gate;
  readonly database: Database;
  readonly feed: Feed;
  readonly inquiries: Pick<AccountInquiries, 'view'>;
  readonly banks: BankDirectory;
  readonly hashAccount: HashAccount;
  readonly harvesting: Pick<Harvesting, 'view'>;
  readonly readiness: ReadinessChecks;
  /** In the sandbox only. */
  readonly demoCore: DemoCore | null;
}

/** The listener for the operator's own systems; what the outside may reach is a matter of a port, not of care. */
export function createOperatorListener(parts: OperatorParts): FastifyInstance {
  const app = createListener({ ...parts.listener, name: 'operator', requestTimeoutMs: 0 });
  const refuseRest = refuseOtherMethods(app);
  readJsonBodies(app);
  feedTransactions(app, parts.gate, parts.feed);
  operatorLists(app, parts.gate, parts.database);
  findChecks(app, parts);
  operatorHarvesting(app, parts.gate, parts.harvesting);
  operatorRails(app, parts.gate, parts.inquiries);
  health(app, parts.readiness, parts.listener.metrics);
  if (parts.demoCore !== null) sandboxOperations(app, parts.gate, parts.demoCore);
  refuseRest();
  return app;
}
