import { isPlainText } from '../domain/identifiers.ts';
import { invalidRequest } from './query-parameters.ts';

export const IDEMPOTENCY_KEY_LENGTH_MAX = 128;

/** A string of structured fields (RFC 9651, section 3.3.3), as the draft requires. Many clients send it unquoted. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/** draft-ietf-httpapi-idempotency-key-header. Null when there is no header. @throws ApiError INVALID_REQUEST */
export function idempotencyKeyOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  const text = String(header).trim();
  const key = QUOTED.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1') ?? text;
  if (key !== '' && isPlainText(key, IDEMPOTENCY_KEY_LENGTH_MAX)) return key;
  throw invalidRequest({
    en: `Idempotency-Key must have 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} characters`,
    id: `Idempotency-Key harus terdiri dari 1 sampai ${IDEMPOTENCY_KEY_LENGTH_MAX} karakter`,
  });
}
