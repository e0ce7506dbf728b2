import type { FastifyInstance } from 'fastify';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { replayDelivery } from '../../postgres/delivery-replays.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { allowEmptyBody } from '../request-body.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import {
  DELIVERY_EXAMPLE,
  DeliverySchema,
  deliveryInPath,
  deliveryInPathSchema,
  deliveryToJson,
} from './delivery-resource.ts';
import { type CallbackDependencies, callbackOperation, manageCallbacks } from './operation.ts';

const MESSAGE: BilingualText = { en: 'Delivery replayed', id: 'Callback dikirim ulang' };

const schema = {
  ...callbackOperation,
  operationId: 'replayCallbackDelivery',
  summary: 'Send a callback again',
  description: 'Sends it at once, in any state, and with the whole retry schedule if it fails again.',
  params: deliveryInPathSchema,
  response: {
    200: successResponse(DeliverySchema, MESSAGE, 'The delivery, pending again.', {
      example: { ...DELIVERY_EXAMPLE, state: 'pending', next_attempt_at: '2026-11-21T04:32:31.402Z', ended_at: null },
    }),
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
  const onRequest = [authorize(manageCallbacks), allowEmptyBody];

  app.post('/api/v1/callback-deliveries/:delivery_id/replay', { onRequest, schema }, async (request, reply) => {
    const key = deliveryInPath(request);
    const delivery = await replayDelivery(database, key);
    if (delivery === 'not_found') throw new ApiError('DELIVERY_NOT_FOUND');
    if (delivery === 'disabled') throw new ApiError('ENDPOINT_DISABLED');
    const data = JSON.stringify(deliveryToJson(delivery));
    return sendSuccess(reply, MESSAGE, data);
  });
}
