import type { FastifyInstance } from 'fastify';
import { changeEndpoint } from './change-endpoint.ts';
import type { CallbackParts } from './parts.ts';
import { readDeliveries } from './read-deliveries.ts';
import { readEndpoints } from './read-endpoints.ts';
import { registerEndpoint } from './register-endpoint.ts';
import { replayOne } from './replay-one.ts';
import { replayRange } from './replay-range.ts';
import { rotateSecret } from './rotate-secret.ts';
import { testEndpoint } from './test-endpoint.ts';

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
