import { eventId } from '../../domain/event.ts';
import type { Attempt, Delivery, DeliveryKey } from '../../postgres/callback-history.ts';

const DELIVERY_ID = /^(ep_[0-9a-f]{20})-([1-9]\d{0,14})$/;

/** The parts of a delivery's ID; null for what cannot be one. */
export function parseDeliveryId(text: string): Omit<DeliveryKey, 'clientId'> | null {
  const [, endpointId, sequence] = DELIVERY_ID.exec(text) ?? [];
  return endpointId === undefined ? null : { endpointId, sequence: Number(sequence) };
}

export const deliveryId = ({ endpointId, sequence }: Omit<DeliveryKey, 'clientId'>): string =>
  `${endpointId}-${sequence}`;

export const deliveryView = (delivery: Delivery): Record<string, unknown> => ({
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

export const attemptView = (attempt: Attempt): Record<string, unknown> => ({
  attempt: attempt.attempt,
  started_at: attempt.startedAt,
  duration_ms: attempt.durationMs,
  http_status: attempt.httpStatus,
  answer: attempt.answer,
  error: attempt.error,
});
