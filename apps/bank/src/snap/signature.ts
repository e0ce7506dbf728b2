import { createHmac, hash, type KeyObject, timingSafeEqual, verify } from 'node:crypto';
import { minify } from './minify.ts';

export interface SignedParts {
  /** Path with query, as the request line has it. */
  readonly endpoint: string;
  /** Without its `Bearer `; empty in what the bank itself sends. */
  readonly accessToken: string;
  readonly body: Buffer;
  /** X-TIMESTAMP, as sent. */
  readonly timestamp: string;
}

/**
 * SNAP BI's symmetric signature of a request by POST: base64 of HMAC_SHA512 over
 * `POST:endpoint:token:hex(sha256(minified body)):timestamp`.
 */
export function symmetricSignature(secret: KeyObject, parts: SignedParts): string {
  const bodyHash = hash('sha256', minify(parts.body), 'hex');
  const signed = `POST:${parts.endpoint}:${parts.accessToken}:${bodyHash}:${parts.timestamp}`;
  return createHmac('sha512', secret).update(signed).digest('base64');
}

/** Whether a transaction request is signed with the partner's secret. */
export function isSymmetricSignature(signature: string, secret: KeyObject, parts: SignedParts): boolean {
  const expected = Buffer.from(symmetricSignature(secret, parts), 'latin1');
  const given = Buffer.from(signature, 'latin1');
  // Compared as text: one signature has exactly one accepted spelling. Constant time, so that nobody can guess
  // it character by character; its length is no secret.
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Whether a text is signed with the partner's private key (SNAP BI, asymmetric): base64 of SHA256withRSA. */
export function isTokenSignature(signature: string, key: KeyObject, signed: string): boolean {
  const bytes = Buffer.from(signature, 'base64');
  // Node skips characters that are not base64; a bank does not.
  if (bytes.toString('base64') !== signature) return false;
  return verify('RSA-SHA256', Buffer.from(signed), key, bytes);
}
