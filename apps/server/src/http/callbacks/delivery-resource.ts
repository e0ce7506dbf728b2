import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { eventId } from '../../domain/event.ts';
import { type Attempt, DELIVERY_STATES, type Delivery, type DeliveryKey } from '../../postgres/callback-history.ts';
import { callerOf } from '../authorize.ts';
import { ApiError } from '../errors.ts';
import { EventFields, Sequence } from '../events/schema.ts';
import { nullable, Timestamp } from '../schemas.ts';
import { EndpointId } from './endpoint-resource.ts';

/** A callback delivery and its attempts in requests and responses: schemas, ID, JSON. */

const DeliveryIdSchema = Type.String({
  description: 'The endpoint and the sequence of the event.',
  pattern: '^ep_[0-9a-f]{20}-[1-9][0-9]*$',
  examples: ['ep_5f0c1d2e3b4a59687786-42'],
});

export const DeliveryStateSchema = Type.Enum([...DELIVERY_STATES], {
  title: 'DeliveryState',
  description: 'exhausted: every attempt of the retry schedule failed. It can be replayed.',
});

export const deliveryFields = {
  delivery_id: DeliveryIdSchema,
  endpoint_id: EndpointId,
  sequence: Sequence,
  ...EventFields,
  state: DeliveryStateSchema,
  attempt_count: Type.Integer({
    description: 'All attempts, including those before a replay.',
    minimum: 0,
    examples: [1],
  }),
  next_attempt_at: nullable(Timestamp, 'null unless pending.'),
  ended_at: nullable(Timestamp, 'When it was delivered or exhausted.'),
};

export const DELIVERY_EXAMPLE = {
  delivery_id: 'ep_5f0c1d2e3b4a59687786-42',
  endpoint_id: 'ep_5f0c1d2e3b4a59687786',
  sequence: 42,
  event_id: 'evt_TB2026112100000001_2',
  type: 'disbursement.succeeded',
  state: 'delivered',
  attempt_count: 1,
  next_attempt_at: null,
  ended_at: '2026-11-21T04:32:31.902Z',
};

export const DeliverySchema = Type.Object(deliveryFields, {
  title: 'CallbackDelivery',
  additionalProperties: false,
  examples: [DELIVERY_EXAMPLE],
});

export const deliveryInPathSchema = Type.Object({ delivery_id: DeliveryIdSchema });

export const ATTEMPT_EXAMPLE = {
  started_at: '2026-11-21T04:32:31.815Z',
  duration_ms: 87,
  http_status: 200,
  answer: 'ok',
  error: null,
};

/** The result of one attempt. */
export const attemptFields = {
  started_at: Timestamp,
  duration_ms: Type.Integer({ description: 'Until the response or the error.', minimum: 0, examples: [87] }),
  http_status: nullable(Type.Integer({ examples: [200] }), 'null when there was no response.'),
  answer: nullable(Type.String({ examples: ['ok'] }), 'The first KiB of the response body.'),
  error: nullable(Type.String({ examples: ['connection refused'] }), 'Why there was no response.'),
};

const DELIVERY_ID = /^(ep_[0-9a-f]{20})-([1-9]\d{0,14})$/;

type DeliveryId = Omit<DeliveryKey, 'clientId'>;

/** Null for a text that is no delivery ID. */
export function parseDeliveryId(text: string): DeliveryId | null {
  const [, endpointId, sequence] = DELIVERY_ID.exec(text) ?? [];
  return endpointId === undefined ? null : { endpointId, sequence: Number(sequence) };
}

export const deliveryId = ({ endpointId, sequence }: DeliveryId): string => `${endpointId}-${sequence}`;

/** The caller's delivery that the path names. @throws ApiError DELIVERY_NOT_FOUND for a text that is no delivery ID. */
export function deliveryInPath(request: FastifyRequest): DeliveryKey {
  const { delivery_id: id = '' } = request.params as { readonly delivery_id?: string };
  const parsed = parseDeliveryId(id);
  if (parsed === null) throw new ApiError('DELIVERY_NOT_FOUND');
  request.logFields = { delivery: id };
  return { clientId: callerOf(request).client.clientId, ...parsed };
}

export const deliveryToJson = (delivery: Delivery): Record<string, unknown> => ({
  delivery_id: deliveryId(delivery),
  endpoint_id: delivery.endpointId,
  sequence: delivery.sequence,
  event_id: eventId(delivery.subjectId, delivery.version),
  type: delivery.kind,
  state: delivery.state,
  attempt_count: delivery.attempts,
  next_attempt_at: delivery.nextAttemptAt,
  ended_at: delivery.endedAt,
});

export const attemptToJson = (attempt: Attempt): Record<string, unknown> => ({
  attempt: attempt.attempt,
  started_at: attempt.startedAt,
  duration_ms: attempt.durationMs,
  http_status: attempt.httpStatus,
  answer: attempt.answer,
  error: attempt.error,
});
