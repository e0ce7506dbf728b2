import type { FastifyInstance } from 'fastify';
import { replayDelivery } from '../../postgres/callback-replays.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { allowEmptyBody } from '../request-body.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import { deliveryView } from './delivery-json.ts';
import { deliveryInPath } from './delivery-path.ts';
import { DeliverySchema, deliveryInPathSchema } from './delivery-schema.ts';
import type { CallbackDependencies } from './dependencies.ts';
import { onCallbacks } from './endpoint-schema.ts';

const schema = {
  ...onCallbacks,
  operationId: 'replayCallbackDelivery',
  summary: 'Deliver a callback again',
  description: 'At once, whatever became of it before, and with the whole schedule should it fail again.',
  params: deliveryInPathSchema,
  response: {
    200: successResponse(DeliverySchema, 'Delivery replayed', 'The delivery, pending again.'),
    ...errorResponses([
      'INVALID_FORMAT',
      'DELIVERY_NOT_FOUND',
      'ENDPOINT_DISABLED',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
    ]),
  },
};

export function replayOne(app: FastifyInstance, { authorize, database }: CallbackDependencies): void {
  const onRequest = [authorize({ scope: 'callbacks:manage', limitedOperation: 'callbacks' }), allowEmptyBody];

  app.post('/api/v1/callback-deliveries/:delivery_id/replay', { onRequest, schema }, async (request, reply) => {
    const key = deliveryInPath(request);
    const delivery = await replayDelivery(database, key);
    if (delivery === 'not_found') throw new ApiError('DELIVERY_NOT_FOUND');
    if (delivery === 'disabled') throw new ApiError('ENDPOINT_DISABLED');
    const data = JSON.stringify(deliveryView(delivery));
    return sendSuccess(reply, 'Delivery replayed', data);
  });
}
