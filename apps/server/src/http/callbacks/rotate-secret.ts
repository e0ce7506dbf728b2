import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { newCallbackSecret } from '../../callbacks/signature.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { rotateEndpointSecret } from '../../postgres/callback-endpoints.ts';
import { sendSuccess } from '../envelope.ts';
import { allowEmptyBody } from '../request-body.ts';
import { errorResponses, successResponse, Timestamp } from '../schemas.ts';
import { EndpointId, endpointInPath, endpointInPathSchema, requireEndpoint, Secret } from './endpoint-resource.ts';
import { type CallbackDependencies, callbackOperation, manageCallbacks } from './operation.ts';

/** Long enough for people to configure the new secret at the receiver. */
export const OVERLAP_SECONDS = 24 * 60 * 60;

const MESSAGE: BilingualText = { en: 'Secret rotated', id: 'Secret diganti' };

const schema = {
  ...callbackOperation,
  operationId: 'rotateCallbackSecret',
  summary: 'Rotate the secret of a callback endpoint',
  description:
    'For 24 hours the previous secret signs callbacks too, so that the receiver can verify them during the change. ' +
    'A secret from before an earlier rotation stops signing at once.',
  params: endpointInPathSchema,
  response: {
    200: successResponse(
      Type.Object(
        { endpoint_id: EndpointId, secret: Secret, former_secret_until: Timestamp },
        { title: 'RotatedSecret', additionalProperties: false },
      ),
      MESSAGE,
      'The new secret.',
    ),
    ...errorResponses(['INVALID_FORMAT', 'ENDPOINT_NOT_FOUND', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']),
  },
};

export function rotateSecret(app: FastifyInstance, { authorize, database, seal }: CallbackDependencies): void {
  const onRequest = [authorize(manageCallbacks), allowEmptyBody];

  app.post('/api/v1/callback-endpoints/:endpoint_id/rotate-secret', { onRequest, schema }, async (request, reply) => {
    const key = endpointInPath(request);
    const secret = newCallbackSecret();
    const until = requireEndpoint(await rotateEndpointSecret(database, key, seal.seal(secret), OVERLAP_SECONDS));
    const data = JSON.stringify({ endpoint_id: key.endpointId, secret, former_secret_until: until });
    return sendSuccess(reply, MESSAGE, data);
  });
}
