import { eventId } from '../domain/event.ts';

/** What is delivered: the same at every attempt. */
export interface CallbackMessage {
  /** The header webhook-id, by which a receiver knows what it has had already. */
  readonly id: string;
  /** JSON text. */
  readonly body: string;
}

export interface MessageParts {
  readonly kind: string;
  /** ISO 8601 UTC. */
  readonly occurredAt: string;
  readonly transactionId: string;
  readonly version: number;
  /** The transaction as a status check answered it, JSON text. It goes out byte for byte. */
  readonly data: string;
}

/** Put together as text: parsed and written anew, amounts could lose their last digits. */
export function createMessage({ kind, occurredAt, transactionId, version, data }: MessageParts): CallbackMessage {
  return {
    id: eventId(transactionId, version),
    body: `{"type":${JSON.stringify(kind)},"timestamp":${JSON.stringify(occurredAt)},"version":${version},"data":${data}}`,
  };
}
