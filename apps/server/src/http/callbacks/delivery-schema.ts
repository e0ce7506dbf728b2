import { Type } from 'typebox';
import { DELIVERY_STATES } from '../../postgres/callback-history.ts';
import { EventFields, Sequence } from '../events/schema.ts';
import { errorResponses, nullable, successResponse, Timestamp } from '../schemas.ts';
import { attemptFields } from './attempt-schema.ts';
import { EndpointId, onCallbacks } from './endpoint-schema.ts';

export const DELIVERIES_MAX = 1_000;
export const DELIVERIES_DEFAULT = 100;
export const ATTEMPTS_SHOWN_MAX = 100;

const DeliveryId = Type.String({
  description: 'The endpoint and the sequence of the event.',
  pattern: '^ep_[0-9a-f]{20}-[1-9][0-9]*$',
  examples: ['ep_5f0c1d2e3b4a59687786-42'],
});

const State = Type.Enum([...DELIVERY_STATES], {
  description: 'exhausted: tried as often as the schedule has it, and given up. It can be replayed.',
});

const deliveryFields = {
  delivery_id: DeliveryId,
  endpoint_id: EndpointId,
  sequence: Sequence,
  ...EventFields,
  state: State,
  attempt_count: Type.Integer({ description: 'All there were, over all replays.', minimum: 0 }),
  next_attempt_at: nullable(Timestamp, 'null unless pending.'),
  ended_at: nullable(Timestamp, 'When it was delivered or given up.'),
};

export const DeliverySchema = Type.Object(deliveryFields, { additionalProperties: false });

const AttemptSchema = Type.Object(
  { attempt: Type.Integer({ minimum: 1 }), ...attemptFields },
  { additionalProperties: false },
);

export const deliveryInPathSchema = Type.Object({ delivery_id: DeliveryId });

export const listDeliveriesSchema = {
  ...onCallbacks,
  operationId: 'listCallbackDeliveries',
  summary: 'List deliveries, the latest events first',
  querystring: Type.Object({
    endpoint_id: Type.Optional(EndpointId),
    state: Type.Optional(State),
    after: Type.Optional(
      Type.String({
        description:
          'Go on behind this delivery: the `next_after` of the answer before. Pages neither repeat nor skip.',
      }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: DELIVERIES_MAX, default: DELIVERIES_DEFAULT })),
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          deliveries: Type.Array(DeliverySchema),
          next_after: nullable(Type.String(), 'null when there are no more.'),
          has_more: Type.Boolean(),
        },
        { additionalProperties: false },
      ),
      'Deliveries found',
      'The deliveries.',
    ),
    ...errorResponses(['INVALID_REQUEST', 'ENDPOINT_NOT_FOUND']),
  },
};

export const oneDeliverySchema = {
  ...onCallbacks,
  operationId: 'getCallbackDelivery',
  summary: 'Look at a delivery and its attempts',
  params: deliveryInPathSchema,
  response: {
    200: successResponse(
      Type.Object(
        {
          ...deliveryFields,
          attempts: Type.Array(AttemptSchema, { description: `The latest ${ATTEMPTS_SHOWN_MAX}, in their order.` }),
        },
        { additionalProperties: false },
      ),
      'Delivery found',
      'The delivery.',
    ),
    ...errorResponses(['DELIVERY_NOT_FOUND']),
  },
};
