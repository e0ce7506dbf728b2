import type { FastifyInstance } from 'fastify';
import { changeEndpoint } from './change-endpoint.ts';
import type { CallbackDependencies } from './operation.ts';
import { readDeliveries } from './read-deliveries.ts';
import { readEndpoints } from './read-endpoints.ts';
import { registerEndpoint } from './register-endpoint.ts';
import { replayOne } from './replay-delivery.ts';
import { replayRange } from './replay-range.ts';
import { rotateSecret } from './rotate-secret.ts';
import { testEndpoint } from './test-endpoint.ts';

/** The operations of a client on its callback endpoints and deliveries. */
export function callbackOperations(app: FastifyInstance, dependencies: CallbackDependencies): void {
  registerEndpoint(app, dependencies);
  readEndpoints(app, dependencies);
  changeEndpoint(app, dependencies);
  rotateSecret(app, dependencies);
  testEndpoint(app, dependencies);
  readDeliveries(app, dependencies);
  replayOne(app, dependencies);
  replayRange(app, dependencies);
}
