import type { Query } from './database.ts';

/** Many records in few notifications: each one costs every process that listens. */

// No field contains a control character.
const RECORD_SEPARATOR = '\u0001';
/** Between the fields of a record. */
export const FIELD_SEPARATOR = '\u0002';
/** A payload must be shorter than 8000 bytes (PostgreSQL, NOTIFY). A character has at most four bytes. */
const PAYLOAD_LENGTH_MAX = 1_900;

/** Notifies all processes when the database transaction is committed. Each record is the text of its fields. */
export async function notify(query: Query, channel: string, records: readonly string[]): Promise<void> {
  if (records.length === 0) return;
  const payloads = payloadsOf(records);
  await query('select pg_notify($1, payload) from unnest($2::text[]) as payload', [channel, payloads], 'notify');
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
