import { hash, type KeyObject, sign } from 'node:crypto';
import {
  asymmetricStringToSign,
  bodyHashOf,
  symmetricStringToSign,
  tokenStringToSign,
} from '../../snap/string-to-sign.ts';
import type { SignatureEncoding, SnapProfile } from './profiles/profile.ts';

/** Asymmetric signature of the token request: SHA256withRSA over `client_ID|X-TIMESTAMP` (ASPI, service 73), base64. */
export const signTokenRequest = (privateKey: KeyObject, clientKey: string, timestamp: string): string =>
  sign('sha256', Buffer.from(tokenStringToSign(clientKey, timestamp)), privateKey).toString('base64');

export interface SignedRequest {
  readonly method: string;
  /** The path with its query, as it stands in the request line. */
  readonly path: string;
  /** Null where none is used: an asymmetric signature proves by itself who sent the request. */
  readonly accessToken: string | null;
  /** Minified JSON, exactly as it is sent. */
  readonly body: string;
  readonly timestamp: string;
}

export type SignRequest = (request: SignedRequest) => string;

interface SigningKeys {
  readonly clientSecret: string;
  readonly privateKey: KeyObject;
}

/** Signs transaction requests as the profile says. */
export function createSigner({ signature }: SnapProfile, { clientSecret, privateKey }: SigningKeys): SignRequest {
  const { kind, encoding } = signature;
  if (kind === 'asymmetric') return (request) => signAsymmetrically(privateKey, request, encoding);
  const hmac = createHmac('sha512', Buffer.from(clientSecret));
  return (request) => signSymmetrically(hmac, request, encoding);
}

/**
 * Symmetric signature (ASPI, "keamanan", type 1): HMAC_SHA512 under the client secret over
 * `METHOD:EndpointUrl:AccessToken:lower(hex(sha256(minify(body)))):X-TIMESTAMP`.
 */
function signSymmetrically(hmac: Hmac, request: SignedRequest, encoding: SignatureEncoding): string {
  return hmac(symmetricStringToSign(request, bodyHashOf(request.body), request.accessToken), encoding);
}

/** Asymmetric signature (ASPI, "keamanan", type 2): SHA256withRSA over the same text without the token. */
function signAsymmetrically(privateKey: KeyObject, request: SignedRequest, encoding: SignatureEncoding): string {
  const text = asymmetricStringToSign(request, bodyHashOf(request.body));
  return sign('sha256', Buffer.from(text), privateKey).toString(encoding);
}

/** In bytes: the block and the digest of each hash. */
const SIZES = { sha256: { block: 64, digest: 32 }, sha512: { block: 128, digest: 64 } } as const;
export type HmacHash = keyof typeof SIZES;

/** Longer messages are rare, and get a buffer of their own size. */
const MESSAGE_BYTES = 1_024;
const UTF_8_BYTES_PER_UNIT = 3;

export type Hmac = (message: string, encoding: 'hex' | 'base64') => string;

/**
 * HMAC (RFC 2104) of many messages, as UTF-8, under one key. The two hashes are computed directly, because every
 * account check needs one and an Hmac object costs half as much again.
 */
export function createHmac(algorithm: HmacHash, secret: Buffer): Hmac {
  const { block, digest } = SIZES[algorithm];
  const key = secret.length > block ? hash(algorithm, secret, 'buffer') : secret;
  const inner = padded(key, 0x36, block, MESSAGE_BYTES);
  const outer = padded(key, 0x5c, block, digest);

  return (message, encoding) => {
    const bytesMax = message.length * UTF_8_BYTES_PER_UNIT;
    const buffer =
      bytesMax <= MESSAGE_BYTES ? inner : Buffer.concat([inner.subarray(0, block), Buffer.alloc(bytesMax)]);
    const end = block + buffer.write(message, block);
    outer.write(hash(algorithm, buffer.subarray(0, end), 'hex'), block, 'hex');
    return hash(algorithm, outer, encoding);
  };
}

/** A block with the key, XORed with `pad`, and `spaceBytes` after it. */
function padded(key: Buffer, pad: number, blockBytes: number, spaceBytes: number): Buffer {
  const bytes = Buffer.alloc(blockBytes + spaceBytes).fill(pad, 0, blockBytes);
  for (const [index, byte] of key.entries()) bytes[index] = byte ^ pad;
  return bytes;
}
