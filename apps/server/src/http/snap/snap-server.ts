import type { FastifyInstance } from 'fastify';
import { snapTimestamp } from '../../snap/timestamp.ts';
import { createServer, type ListenerOptions } from '../server.ts';
import { type AccessTokenDependencies, accessToken } from './access-token.ts';
import { type AccountInquiryDependencies, accountInquiries } from './account-inquiry.ts';
import { readRawBodies } from './body.ts';
import { snapErrorForm } from './response-codes.ts';
import { snapRouteOf } from './services.ts';
import { type TransferStatusDependencies, transferStatus } from './transfer-status.ts';

export interface SnapServerDependencies
  extends AccessTokenDependencies,
    AccountInquiryDependencies,
    TransferStatusDependencies {
  readonly listener: Omit<ListenerOptions, 'name' | 'errorForm' | 'rewritePath'>;
}

/**
 * The listener for clients that speak SNAP (docs/snap-clients.md). It is a mapping: tokens, limits, account checks and
 * look-ups are those of the public listener.
 */
export function createSnapServer(dependencies: SnapServerDependencies): FastifyInstance {
  const { listener } = dependencies;
  const app = createServer({ ...listener, name: 'snap', errorForm: snapErrorForm, rewritePath: snapRouteOf });
  // On every answer, so that a client can see how far its own clock is off.
  app.addHook('onSend', (_request, reply, payload, done) => {
    reply.header('x-timestamp', snapTimestamp(dependencies.now()));
    done(null, payload);
  });
  readRawBodies(app);
  accessToken(app, dependencies);
  accountInquiries(app, dependencies);
  transferStatus(app, dependencies);
  app.answerOtherMethods();
  return app;
}
