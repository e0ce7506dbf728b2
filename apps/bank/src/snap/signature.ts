import { createHmac, hash, type KeyObject, timingSafeEqual, verify } from 'node:crypto';
import { minify } from './minify.ts';

export interface SignedRequest {
  /** Path with query, as the request line has it. */
  readonly endpoint: string;
  /** Without its `Bearer `; empty in what the bank itself sends. */
  readonly accessToken: string;
  readonly body: Buffer;
  /** X-TIMESTAMP, as sent. */
  readonly timestamp: string;
}

/** What a bank may want of a transaction request: SNAP BI names two kinds of signature and no encoding. */
export const SIGNATURE_STYLES = ['symmetric-base64', 'symmetric-hex', 'asymmetric-base64', 'asymmetric-hex'] as const;
export type SignatureStyle = (typeof SIGNATURE_STYLES)[number];

/** Of one partner. */
export interface SignatureKeys {
  readonly secret: KeyObject;
  readonly publicKey: KeyObject;
}

/** Whether a transaction request is signed by the partner, in this style and no other. */
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
 * SNAP BI's symmetric signature of a request by POST: HMAC_SHA512 over
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

/** What SNAP BI's asymmetric signature covers. */
const withoutToken = (request: SignedRequest): string =>
  `POST:${request.endpoint}:${bodyHash(request)}:${request.timestamp}`;

function isSymmetricSignature(signature: string, expectedSignature: string): boolean {
  const expected = Buffer.from(expectedSignature, 'latin1');
  const actual = Buffer.from(signature, 'latin1');
  // Compared as text: one signature has exactly one accepted spelling. Constant time, so that nobody can guess
  // it character by character; its length is no secret.
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

/** Whether a text is signed with the partner's private key (SNAP BI, asymmetric): SHA256withRSA. */
export function isAsymmetricSignature(
  signature: string,
  key: KeyObject,
  signed: string,
  encoding: 'base64' | 'hex',
): boolean {
  const bytes = Buffer.from(signature, encoding);
  // Node skips characters that are not of the encoding; a bank does not.
  if (bytes.toString(encoding) !== signature) return false;
  return verify('RSA-SHA256', Buffer.from(signed), key, bytes);
}
