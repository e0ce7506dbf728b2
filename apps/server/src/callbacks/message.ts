import { eventId } from '../domain/event.ts';

/** What is delivered: the same at every attempt. */
export interface CallbackMessage {
  /** The header webhook-id, by which a receiver knows what it has had already. */
  readonly id: string;
  /** JSON text. */
  readonly body: string;
}

export interface MessageFields {
  readonly kind: string;
  /** ISO 8601 UTC. */
  readonly occurredAt: string;
  readonly subjectId: string;
  readonly version: number;
  /** The subject as the API showed it, JSON text. It goes out byte for byte. */
  readonly data: string;
}

/** Put together as text: parsed and written anew, amounts could lose their last digits. */
export function createMessage({ kind, occurredAt, subjectId, version, data }: MessageFields): CallbackMessage {
  return {
    id: eventId(subjectId, version),
    body: `{"type":${JSON.stringify(kind)},"timestamp":${JSON.stringify(occurredAt)},"version":${version},"data":${data}}`,
  };
}
