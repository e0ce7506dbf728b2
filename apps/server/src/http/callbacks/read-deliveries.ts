import type { FastifyInstance } from 'fastify';
import { findEndpoint } from '../../postgres/callback-endpoints.ts';
import { DELIVERY_STATES, findDelivery, listAttempts, listDeliveries } from '../../postgres/callback-history.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { invalidRequest, oneOf, queryParameters, wholeNumber } from '../query-parameters.ts';
import { attemptView, deliveryId, deliveryView, parseDeliveryId } from './delivery-json.ts';
import { deliveryInPath } from './delivery-path.ts';
import {
  ATTEMPTS_SHOWN_MAX,
  DELIVERIES_DEFAULT,
  DELIVERIES_MAX,
  listDeliveriesSchema,
  oneDeliverySchema,
} from './delivery-schema.ts';
import type { CallbackDependencies } from './dependencies.ts';
import { found, isEndpointId } from './endpoint-path.ts';

/** What became of callbacks. */
export function readDeliveries(app: FastifyInstance, { authorize, database }: CallbackDependencies): void {
  const onRequest = authorize({ scope: 'callbacks:manage', limitedOperation: 'callbacks' });

  app.get('/api/v1/callback-deliveries', { onRequest, schema: listDeliveriesSchema }, async (request, reply) => {
    const given = queryParameters(request.originalUrl, ['endpoint_id', 'state', 'after', 'limit']);
    const state = oneOf(given.state, DELIVERY_STATES, 'state');
    const after = given.after === undefined ? null : parseDeliveryId(given.after);
    if (given.after !== undefined && after === null) {
      throw invalidRequest('after must be a delivery_id: the next_after of the answer before');
    }
    const bounds = { name: 'limit', min: 1, max: DELIVERIES_MAX, fallback: DELIVERIES_DEFAULT };
    const limit = wholeNumber(given.limit, bounds);

    const { clientId } = callerOf(request).client;
    const endpointId = given.endpoint_id ?? null;
    if (endpointId !== null) {
      if (!isEndpointId(endpointId)) throw new ApiError('ENDPOINT_NOT_FOUND');
      found(await findEndpoint(database, { clientId, endpointId }));
    }
    const listed = await listDeliveries(database, clientId, { endpointId, state, after, limit: limit + 1 });
    const deliveries = listed.slice(0, limit);
    const last = deliveries.at(-1);
    const hasMore = listed.length > limit;
    const data = JSON.stringify({
      deliveries: deliveries.map(deliveryView),
      next_after: hasMore && last !== undefined ? deliveryId(last) : null,
      has_more: hasMore,
    });
    return sendSuccess(reply, 'Deliveries found', data);
  });

  const options = { onRequest, schema: oneDeliverySchema };
  app.get('/api/v1/callback-deliveries/:delivery_id', options, async (request, reply) => {
    const key = deliveryInPath(request);
    const delivery = await findDelivery(database, key);
    if (delivery === null) throw new ApiError('DELIVERY_NOT_FOUND');
    const attempts = await listAttempts(database, key, ATTEMPTS_SHOWN_MAX);
    const data = JSON.stringify({ ...deliveryView(delivery), attempts: attempts.map(attemptView) });
    return sendSuccess(reply, 'Delivery found', data);
  });
}
