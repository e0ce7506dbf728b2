import type { FastifyInstance } from 'fastify';
import type { Feed } from '../../feed/feed.ts';
import type { Database } from '../../postgres/database.ts';
import type { AccountInquiries } from '../../rails/account-inquiries.ts';
import type { DemoCore } from '../../sandbox/demo-core.ts';
import type { Gate } from '../gate.ts';
import { readJsonBodies } from '../json-body.ts';
import { createListener, type ListenerOptions } from '../listener.ts';
import { refuseOtherMethods } from '../other-methods.ts';
import { feedTransactions } from './feed.ts';
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
  operatorRails(app, parts.gate, parts.inquiries);
  health(app, parts.readiness, parts.listener.metrics);
  if (parts.demoCore !== null) sandboxOperations(app, parts.gate, parts.demoCore);
  refuseRest();
  return app;
}
