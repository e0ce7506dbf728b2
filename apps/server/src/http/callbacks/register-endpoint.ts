import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { newCallbackSecret } from '../../callbacks/signature.ts';
import { DISBURSEMENT_KINDS } from '../../domain/event.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { ownProperty } from '../../lib/own-property.ts';
import { insertEndpoint } from '../../postgres/callback-endpoints.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { jsonObject, requireJson } from '../request-body.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import { EndpointWithSecretSchema, endpointToJson, Kinds, readKinds, readUrl, Url } from './endpoint-resource.ts';
import { type CallbackDependencies, callbackOperation, manageCallbacks } from './operation.ts';

/**
 * Kinds that were added later are only sent to endpoints that name them, so that existing receivers see no new kind.
 */
export const DEFAULT_KINDS = DISBURSEMENT_KINDS;
export const ENDPOINTS_MAX = 10;
const ENDPOINT_ID_BYTES = 10;

export const newEndpointId = (): string => `ep_${randomBytes(ENDPOINT_ID_BYTES).toString('hex')}`;

const MESSAGE: BilingualText = { en: 'Callback endpoint registered', id: 'Endpoint callback didaftarkan' };

const schema = {
  ...callbackOperation,
  operationId: 'registerCallbackEndpoint',
  summary: 'Register a callback endpoint',
  description:
    'The endpoint receives events from now on: those in `kinds`, or all disbursement events when it is omitted. ' +
    `A client has at most ${ENDPOINTS_MAX} endpoints.`,
  body: Type.Object({ url: Url, kinds: Type.Optional(Kinds) }, { title: 'NewCallbackEndpoint' }),
  response: {
    201: successResponse(EndpointWithSecretSchema, MESSAGE, 'The endpoint with its secret.'),
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
  { authorize, database, seal, validateUrl }: CallbackDependencies,
): void {
  const onRequest = [authorize(manageCallbacks), requireJson];

  app.post('/api/v1/callback-endpoints', { onRequest, schema }, async (request, reply) => {
    const body = jsonObject(request.body);
    const givenKinds = ownProperty(body, 'kinds');
    const kinds = givenKinds === undefined ? DEFAULT_KINDS : readKinds(givenKinds);
    const url = await readUrl(request, ownProperty(body, 'url'), validateUrl);

    const { clientId } = callerOf(request).client;
    const endpointId = newEndpointId();
    const secret = newCallbackSecret();
    const created = { clientId, endpointId, url, kinds, secretSealed: seal.seal(secret) };
    const endpoint = await insertEndpoint(database, created, ENDPOINTS_MAX);
    if (endpoint === null) {
      throw new ApiError('ENDPOINT_LIMIT_REACHED', {
        message: {
          en:
            `You already have ${ENDPOINTS_MAX} callback endpoints, the maximum: ` +
            'change the url of one you do not need',
          id:
            `Anda sudah memiliki ${ENDPOINTS_MAX} endpoint callback, jumlah maksimum: ` +
            'ubah url endpoint yang tidak Anda perlukan',
        },
      });
    }
    request.logFields = { endpoint: endpointId };
    return sendSuccess(reply.code(201), MESSAGE, JSON.stringify({ ...endpointToJson(endpoint), secret }));
  });
}
