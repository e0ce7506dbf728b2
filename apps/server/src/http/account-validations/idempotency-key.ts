import { isPlainText } from '../../domain/identifiers.ts';
import { invalidRequest } from '../query-parameters.ts';

const LENGTH_MAX = 128;
/** A string of structured fields (RFC 9651, section 3.3.3), as the draft wants it; many send the text alone. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/** draft-ietf-httpapi-idempotency-key-header. Null where there is none. @throws ApiError INVALID_REQUEST */
export function idempotencyKeyOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  const text = String(header).trim();
  const key = QUOTED.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1') ?? text;
  if (key !== '' && isPlainText(key, LENGTH_MAX)) return key;
  throw invalidRequest(`Idempotency-Key must have 1 to ${LENGTH_MAX} characters`);
}
