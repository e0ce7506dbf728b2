import type { FastifyInstance } from 'fastify';
import type { Seal } from '../../auth/secrets.ts';
import type { SendCallback } from '../../callbacks/send.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Judgement } from '../../outbound/destination.ts';
import type { Database } from '../../postgres/database.ts';
import type { Gate } from '../gate.ts';
import { changeEndpoint } from './change-endpoint.ts';
import { readDeliveries } from './read-deliveries.ts';
import { readEndpoints } from './read-endpoints.ts';
import { registerEndpoint } from './register-endpoint.ts';
import { replayOne } from './replay-one.ts';
import { replayRange } from './replay-range.ts';
import { rotateSecret } from './rotate-secret.ts';
import { testEndpoint } from './test-endpoint.ts';

export interface CallbackParts {
  readonly gate: Gate;
  readonly database: Database;
  readonly seal: Seal;
  /** Whether callbacks may be sent to a URL. */
  readonly judge: (url: string) => Promise<Judgement>;
  readonly send: SendCallback;
  /** Counts tests, which send at once. */
  readonly testLimiter: Limiter;
}

/** What a client does about its callbacks: endpoints, what became of deliveries, and replays. */
export function callbackOperations(app: FastifyInstance, parts: CallbackParts): void {
  registerEndpoint(app, parts);
  readEndpoints(app, parts);
  changeEndpoint(app, parts);
  rotateSecret(app, parts);
  testEndpoint(app, parts);
  readDeliveries(app, parts);
  replayOne(app, parts);
  replayRange(app, parts);
}
