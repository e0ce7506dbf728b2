import { hash, type KeyObject, sign } from 'node:crypto';
import { createHmac, type Hmac } from './hmac.ts';
import type { SignatureEncoding, SnapProfile } from './profiles/profile.ts';

/** Asymmetric signature of the request for a token: SHA256withRSA over `client_ID|X-TIMESTAMP` (ASPI, service 73), base64. */
export const signTokenRequest = (privateKey: KeyObject, clientKey: string, timestamp: string): string =>
  sign('sha256', Buffer.from(`${clientKey}|${timestamp}`), privateKey).toString('base64');

export interface SignedRequest {
  readonly method: string;
  /** The path with its query, as it stands in the request line. */
  readonly path: string;
  /** Null where none is used: the asymmetric signature proves by itself who asks. */
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
  const { method, path, accessToken, body, timestamp } = request;
  const bodyHash = hash('sha256', body, 'hex');
  return hmac(`${method}:${path}:${accessToken}:${bodyHash}:${timestamp}`, encoding);
}

/** Asymmetric signature (ASPI, "keamanan", type 2): SHA256withRSA over the same without the token. */
function signAsymmetrically(privateKey: KeyObject, request: SignedRequest, encoding: SignatureEncoding): string {
  const { method, path, body, timestamp } = request;
  const bodyHash = hash('sha256', body, 'hex');
  return sign('sha256', Buffer.from(`${method}:${path}:${bodyHash}:${timestamp}`), privateKey).toString(encoding);
}
