import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { rotateEndpointSecret } from '../../postgres/callback-endpoints.ts';
import { sendSuccess } from '../envelope.ts';
import { allowEmptyBody } from '../request-body.ts';
import { errorResponses, successResponse, Timestamp } from '../schemas.ts';
import type { CallbackDependencies } from './dependencies.ts';
import { endpointInPath, found } from './endpoint-path.ts';
import { EndpointId, endpointInPathSchema, onCallbacks, Secret } from './endpoint-schema.ts';
import { newCallbackSecret } from './new-secret.ts';

/** Long enough for a receiver to be told of the new secret by people. */
const OVERLAP_SECONDS = 24 * 60 * 60;

const schema = {
  ...onCallbacks,
  operationId: 'rotateCallbackSecret',
  summary: 'Give a callback endpoint a new secret',
  description:
    'For 24 hours the former secret signs too, so that no callback is refused meanwhile; the one before it no longer does.',
  params: endpointInPathSchema,
  response: {
    200: successResponse(
      Type.Object(
        { endpoint_id: EndpointId, secret: Secret, former_secret_until: Timestamp },
        { additionalProperties: false },
      ),
      'Secret rotated',
      'The new secret.',
    ),
    ...errorResponses(['INVALID_FORMAT', 'ENDPOINT_NOT_FOUND', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']),
  },
};

export function rotateSecret(app: FastifyInstance, { authorize, database, seal }: CallbackDependencies): void {
  const onRequest = [authorize({ scope: 'callbacks:manage', limitedOperation: 'callbacks' }), allowEmptyBody];

  app.post('/api/v1/callback-endpoints/:endpoint_id/rotate-secret', { onRequest, schema }, async (request, reply) => {
    const key = endpointInPath(request);
    const secret = newCallbackSecret();
    const until = found(await rotateEndpointSecret(database, key, seal.seal(secret), OVERLAP_SECONDS));
    const data = JSON.stringify({ endpoint_id: key.endpointId, secret, former_secret_until: until });
    return sendSuccess(reply, 'Secret rotated', data);
  });
}
