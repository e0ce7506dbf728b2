import { createHmac, hash, type KeyObject, timingSafeEqual, verify } from 'node:crypto';
import { minify } from './minify.ts';

export interface SignedRequest {
  /** Path with query, as the request line has it. */
  readonly endpoint: string;
  /** Without `Bearer `; empty in requests that the bank sends. */
  readonly accessToken: string;
  readonly body: Buffer;
  /** X-TIMESTAMP, as sent. */
  readonly timestamp: string;
}

/** The signatures that banks require on transaction requests: SNAP BI defines two kinds and no encoding. */
export const SIGNATURE_STYLES = ['symmetric-base64', 'symmetric-hex', 'asymmetric-base64', 'asymmetric-hex'] as const;
export type SignatureStyle = (typeof SIGNATURE_STYLES)[number];

/** The keys of one partner. */
export interface SignatureKeys {
  readonly secret: KeyObject;
  readonly publicKey: KeyObject;
}

/** Whether the partner signed a transaction request, in this style and no other. */
export function isTransactionSignature(
  signature: string,
  style: SignatureStyle,
  { secret, publicKey }: SignatureKeys,
  request: SignedRequest,
): boolean {
  switch (style) {
    case 'symmetric-base64':
      return isSymmetricSignature(signature, symmetricSignature(secret, request));
    case 'symmetric-hex':
      return isSymmetricSignature(signature, symmetricSignature(secret, request, 'hex'));
    case 'asymmetric-base64':
      return isAsymmetricSignature(signature, publicKey, withoutToken(request), 'base64');
    case 'asymmetric-hex':
      return isAsymmetricSignature(signature, publicKey, withoutToken(request), 'hex');
  }
}

/**
 * The symmetric signature of SNAP BI for a POST request: HMAC_SHA512 over
 * `POST:endpoint:token:hex(sha256(minified body)):timestamp`.
 */
export function symmetricSignature(
  secret: KeyObject,
  request: SignedRequest,
  encoding: 'base64' | 'hex' = 'base64',
): string {
  const signed = `POST:${request.endpoint}:${request.accessToken}:${bodyHash(request)}:${request.timestamp}`;
  return createHmac('sha512', secret).update(signed).digest(encoding);
}

const bodyHash = ({ body }: SignedRequest): string => hash('sha256', minify(body), 'hex');

/** The text that the asymmetric signature of SNAP BI covers. */
const withoutToken = (request: SignedRequest): string =>
  `POST:${request.endpoint}:${bodyHash(request)}:${request.timestamp}`;

function isSymmetricSignature(signature: string, expectedSignature: string): boolean {
  const expected = Buffer.from(expectedSignature, 'latin1');
  const actual = Buffer.from(signature, 'latin1');
  // Compared as text: one signature has exactly one accepted spelling. The comparison takes constant time, so that an
  // attacker cannot guess the signature character by character; its length is public.
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

/** Whether the partner's private key signed a text (SNAP BI, asymmetric): SHA256withRSA. */
export function isAsymmetricSignature(
  signature: string,
  key: KeyObject,
  signed: string,
  encoding: 'base64' | 'hex',
): boolean {
  const bytes = Buffer.from(signature, encoding);
  // Node ignores characters outside the encoding; a bank rejects them.
  if (bytes.toString(encoding) !== signature) return false;
  return verify('RSA-SHA256', Buffer.from(signed), key, bytes);
}
