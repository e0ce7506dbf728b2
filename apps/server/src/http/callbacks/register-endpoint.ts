import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { DISBURSEMENT_KINDS } from '../../domain/event.ts';
import { ownProperty } from '../../lib/own-property.ts';
import { insertEndpoint } from '../../postgres/callback-endpoints.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { jsonObject, requireJson } from '../request-body.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import type { CallbackDependencies } from './dependencies.ts';
import { readKinds, readUrl } from './endpoint-fields.ts';
import { endpointView } from './endpoint-json.ts';
import { EndpointWithSecretSchema, Kinds, onCallbacks, Url } from './endpoint-schema.ts';
import { newCallbackSecret } from './new-secret.ts';

/** Kinds that came later are for those who name them: who named none never asked for them. */
const DEFAULT_KINDS = DISBURSEMENT_KINDS;
const ENDPOINTS_MAX = 10;
const ENDPOINT_ID_BYTES = 10;

const schema = {
  ...onCallbacks,
  operationId: 'registerCallbackEndpoint',
  summary: 'Register a callback endpoint',
  description: `From now on it is told of what happens: of \`kinds\`, or without them of all about disbursements. At most ${ENDPOINTS_MAX} for each client.`,
  body: Type.Object({ url: Url, kinds: Type.Optional(Kinds) }),
  response: {
    201: successResponse(EndpointWithSecretSchema, 'Callback endpoint registered', 'The endpoint with its secret.'),
    ...errorResponses([
      'INVALID_FORMAT',
      'INVALID_REQUEST',
      'ENDPOINT_LIMIT_REACHED',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
    ]),
  },
};

export function registerEndpoint(
  app: FastifyInstance,
  { authorize, database, seal, judge }: CallbackDependencies,
): void {
  const onRequest = [authorize({ scope: 'callbacks:manage', limitedOperation: 'callbacks' }), requireJson];

  app.post('/api/v1/callback-endpoints', { onRequest, schema }, async (request, reply) => {
    const body = jsonObject(request.body);
    const given = ownProperty(body, 'kinds');
    const kinds = given === undefined ? DEFAULT_KINDS : readKinds(given);
    const url = await readUrl(ownProperty(body, 'url'), judge);

    const { clientId } = callerOf(request).client;
    const endpointId = `ep_${randomBytes(ENDPOINT_ID_BYTES).toString('hex')}`;
    const secret = newCallbackSecret();
    const created = { clientId, endpointId, url, kinds, secretSealed: seal.seal(secret) };
    const endpoint = await insertEndpoint(database, created, ENDPOINTS_MAX);
    if (endpoint === null) {
      throw new ApiError('ENDPOINT_LIMIT_REACHED', {
        message: `There are ${ENDPOINTS_MAX} callback endpoints, which is as many as can be: change the url of one that is no longer needed`,
      });
    }
    request.logFields = { endpoint: endpointId };
    return sendSuccess(
      reply.code(201),
      'Callback endpoint registered',
      JSON.stringify({ ...endpointView(endpoint), secret }),
    );
  });
}
