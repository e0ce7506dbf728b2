import { createHmac, hash, type KeyObject, sign } from 'node:crypto';

/** Asymmetric signature of the request for a token: SHA256withRSA over `client_ID|X-TIMESTAMP` (ASPI, service 73), base64. */
export const signTokenRequest = (privateKey: KeyObject, clientKey: string, timestamp: string): string =>
  sign('sha256', Buffer.from(`${clientKey}|${timestamp}`), privateKey).toString('base64');

export interface SignedRequest {
  readonly method: string;
  /** The path with its query, as it stands in the request line. */
  readonly path: string;
  readonly accessToken: string;
  /** Minified JSON, exactly as it is sent. */
  readonly body: string;
  readonly timestamp: string;
}

/**
 * Symmetric signature of a transaction request (ASPI, "keamanan"): HMAC_SHA512 under the client secret over
 * `METHOD:EndpointUrl:AccessToken:lower(hex(sha256(minify(body)))):X-TIMESTAMP`, base64 as banks expect it in production.
 */
export function signRequest(clientSecret: KeyObject, request: SignedRequest): string {
  const { method, path, accessToken, body, timestamp } = request;
  const bodyHash = hash('sha256', body, 'hex');
  return createHmac('sha512', clientSecret)
    .update(`${method}:${path}:${accessToken}:${bodyHash}:${timestamp}`)
    .digest('base64');
}
