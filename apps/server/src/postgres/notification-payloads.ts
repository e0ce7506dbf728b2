import type { Query } from './database.ts';

/** Many records in few notifications: each one costs every process that listens. */

// No field contains a control character.
const RECORD_SEPARATOR = '\u0001';
/** Between the fields of a record. */
export const FIELD_SEPARATOR = '\u0002';
/** A payload must be shorter than 8000 bytes (PostgreSQL, NOTIFY). A character has at most four bytes. */
const PAYLOAD_LENGTH_MAX = 1_900;

export interface Notifications {
  readonly channel: string;
  /** Each is the text of its fields. */
  readonly records: readonly string[];
}

/** SQL: sends the notifications of which `notifyParameters` makes the first two parameters. */
export const NOTIFY_SQL =
  'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as n (channel, payload)';

export function notifyParameters(notifications: readonly Notifications[]): [channels: string[], payloads: string[]] {
  const channels: string[] = [];
  const payloads: string[] = [];
  for (const { channel, records } of notifications) {
    for (const payload of payloadsOf(records)) {
      channels.push(channel);
      payloads.push(payload);
    }
  }
  return [channels, payloads];
}

/** Notifies all processes when the database transaction is committed. */
export async function notify(query: Query, notifications: readonly Notifications[]): Promise<void> {
  const parameters = notifyParameters(notifications);
  if (parameters[0].length > 0) await query(NOTIFY_SQL, parameters, 'notify');
}

function payloadsOf(texts: readonly string[]): string[] {
  const payloads: string[] = [];
  let payload: string | null = null;
  for (const text of texts) {
    if (payload !== null && payload.length + text.length < PAYLOAD_LENGTH_MAX) payload += RECORD_SEPARATOR + text;
    else {
      if (payload !== null) payloads.push(payload);
      payload = text;
    }
  }
  if (payload !== null) payloads.push(payload);
  return payloads;
}

/** The records of a notification. */
export const recordsOf = (payload: string): string[][] =>
  payload.split(RECORD_SEPARATOR).map((text) => text.split(FIELD_SEPARATOR));
