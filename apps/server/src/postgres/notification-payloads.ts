import type { Query } from './database.ts';

/** Many texts in few notifications: each one costs every process that listens. */

// No text contains a control character.
const SEPARATOR = '\u0001';
/** A payload must be shorter than 8000 bytes (PostgreSQL, NOTIFY). A character has at most four bytes. */
const PAYLOAD_LENGTH_MAX = 1_900;

/** Notifies all processes when the database transaction is committed. */
export async function notify(query: Query, channel: string, texts: readonly string[]): Promise<void> {
  if (texts.length === 0) return;
  await query(
    'select pg_notify($1, payload) from unnest($2::text[]) as payload',
    [channel, payloadsOf(texts)],
    'notify',
  );
}

function payloadsOf(texts: readonly string[]): string[] {
  const payloads: string[] = [];
  let payload: string | null = null;
  for (const text of texts) {
    if (payload !== null && payload.length + text.length < PAYLOAD_LENGTH_MAX) payload += SEPARATOR + text;
    else {
      if (payload !== null) payloads.push(payload);
      payload = text;
    }
  }
  if (payload !== null) payloads.push(payload);
  return payloads;
}

/** The texts of a notification. */
export const textsOf = (payload: string): string[] => payload.split(SEPARATOR);
