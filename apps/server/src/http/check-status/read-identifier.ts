import { isReferenceId } from '../../domain/identifiers.ts';

// A URL is ASCII (RFC 3986); other characters must be percent-encoded.
const BEYOND_ASCII = /[^\x21-\x7e ]/;

/** The identifier of a URL, decoded; null when it is malformed. A transaction ID is a valid reference ID too. */
export function readIdentifier(encoded: string): string | null {
  const value = decode(encoded);
  return value !== null && isReferenceId(value) ? value : null;
}

/** A part of a URL, decoded; null when it is malformed. */
export function decode(encoded: string): string | null {
  if (BEYOND_ASCII.test(encoded)) return null;
  if (!encoded.includes('%')) return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}
