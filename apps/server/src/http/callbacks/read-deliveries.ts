import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { findEndpoint } from '../../postgres/callback-endpoints.ts';
import { DELIVERY_STATES, findDelivery, listAttempts, listDeliveries } from '../../postgres/callback-history.ts';
import type { Database } from '../../postgres/database.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { invalidRequest, oneOf, searchParameters, wholeNumber } from '../query-parameters.ts';
import { errorResponses, nullable, successResponse } from '../schemas.ts';
import {
  ATTEMPT_EXAMPLE,
  attemptFields,
  attemptToJson,
  DELIVERY_EXAMPLE,
  DeliverySchema,
  DeliveryStateSchema,
  deliveryFields,
  deliveryId,
  deliveryInPath,
  deliveryInPathSchema,
  deliveryToJson,
  parseDeliveryId,
} from './delivery-resource.ts';
import { EndpointId, isEndpointId, requireEndpoint } from './endpoint-resource.ts';
import { type CallbackDependencies, callbackOperation, manageCallbacks } from './operation.ts';

const DELIVERIES_MAX = 1_000;
const DELIVERIES_DEFAULT = 100;
const ATTEMPTS_SHOWN_MAX = 100;

const DELIVERIES_FOUND: BilingualText = { en: 'Deliveries found', id: 'Daftar pengiriman callback ditemukan' };

const DELIVERY_FOUND: BilingualText = { en: 'Delivery found', id: 'Pengiriman callback ditemukan' };

const listSchema = {
  ...callbackOperation,
  operationId: 'listCallbackDeliveries',
  summary: 'List deliveries, latest events first',
  description: 'The deliveries of all endpoints, or of one. A delivery is one event for one endpoint.',
  querystring: Type.Object({
    endpoint_id: Type.Optional(EndpointId),
    state: Type.Optional(DeliveryStateSchema),
    after: Type.Optional(
      Type.String({
        description:
          'Continue after this delivery: the `next_after` of the previous response. ' +
          'Pages neither repeat nor skip deliveries.',
        examples: ['ep_5f0c1d2e3b4a59687786-42'],
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        description: 'The size of a page.',
        minimum: 1,
        maximum: DELIVERIES_MAX,
        default: DELIVERIES_DEFAULT,
      }),
    ),
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          deliveries: Type.Array(DeliverySchema),
          next_after: nullable(Type.String({ examples: ['ep_5f0c1d2e3b4a59687786-42'] }), 'null on the last page.'),
          has_more: Type.Boolean({ description: 'Whether there is another page.' }),
        },
        { title: 'CallbackDeliveryList', additionalProperties: false },
      ),
      DELIVERIES_FOUND,
      'The deliveries.',
    ),
    ...errorResponses(['INVALID_REQUEST', 'ENDPOINT_NOT_FOUND']),
  },
};

const AttemptSchema = Type.Object(
  { attempt: Type.Integer({ description: 'Counted from 1.', minimum: 1 }), ...attemptFields },
  { title: 'DeliveryAttempt', additionalProperties: false, examples: [{ attempt: 1, ...ATTEMPT_EXAMPLE }] },
);

const oneSchema = {
  ...callbackOperation,
  operationId: 'getCallbackDelivery',
  summary: 'Get a delivery with its attempts',
  description: 'What your endpoint answered, attempt by attempt.',
  params: deliveryInPathSchema,
  response: {
    200: successResponse(
      Type.Object(
        {
          ...deliveryFields,
          attempts: Type.Array(AttemptSchema, {
            description: `The latest ${ATTEMPTS_SHOWN_MAX} attempts, oldest first.`,
          }),
        },
        {
          title: 'CallbackDeliveryWithAttempts',
          additionalProperties: false,
          examples: [{ ...DELIVERY_EXAMPLE, attempts: [{ attempt: 1, ...ATTEMPT_EXAMPLE }] }],
        },
      ),
      DELIVERY_FOUND,
      'The delivery.',
    ),
    ...errorResponses(['DELIVERY_NOT_FOUND']),
  },
};

export function readDeliveries(app: FastifyInstance, { authorize, database }: CallbackDependencies): void {
  const onRequest = authorize(manageCallbacks);

  app.get('/api/v1/callback-deliveries', { onRequest, schema: listSchema }, (request, reply) =>
    answerList(database, request, reply),
  );

  app.get('/api/v1/callback-deliveries/:delivery_id', { onRequest, schema: oneSchema }, async (request, reply) => {
    const key = deliveryInPath(request);
    const delivery = await findDelivery(database, key);
    if (delivery === null) throw new ApiError('DELIVERY_NOT_FOUND');
    const attempts = await listAttempts(database, key, ATTEMPTS_SHOWN_MAX);
    const data = JSON.stringify({ ...deliveryToJson(delivery), attempts: attempts.map(attemptToJson) });
    return sendSuccess(reply, DELIVERY_FOUND, data);
  });
}

async function answerList(database: Database, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const parameters = searchParameters(request.originalUrl, ['endpoint_id', 'state', 'after', 'limit']);
  const state = oneOf(parameters.state, DELIVERY_STATES, 'state');
  const after = parameters.after === undefined ? null : parseDeliveryId(parameters.after);
  if (parameters.after !== undefined && after === null) {
    throw invalidRequest({
      en: 'after must be a delivery_id: the next_after of the previous response',
      id: 'after harus berupa delivery_id: next_after dari jawaban sebelumnya',
    });
  }
  const bounds = { name: 'limit', min: 1, max: DELIVERIES_MAX, fallback: DELIVERIES_DEFAULT };
  const limit = wholeNumber(parameters.limit, bounds);

  const { clientId } = callerOf(request).client;
  const endpointId = parameters.endpoint_id ?? null;
  if (endpointId !== null) {
    if (!isEndpointId(endpointId)) throw new ApiError('ENDPOINT_NOT_FOUND');
    requireEndpoint(await findEndpoint(database, { clientId, endpointId }));
  }
  const rows = await listDeliveries(database, clientId, { endpointId, state, after, limit: limit + 1 });
  const deliveries = rows.slice(0, limit);
  const last = deliveries.at(-1);
  const hasMore = rows.length > limit;
  const data = JSON.stringify({
    deliveries: deliveries.map(deliveryToJson),
    next_after: hasMore && last !== undefined ? deliveryId(last) : null,
    has_more: hasMore,
  });
  return sendSuccess(reply, DELIVERIES_FOUND, data);
}
