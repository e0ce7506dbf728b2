import { hash } from 'node:crypto';

/** The texts that SNAP's signatures cover (ASPI, "keamanan"), for the side that signs and the side that verifies. */

/** Of the token request (service 73), asymmetric. */
export const tokenStringToSign = (clientKey: string, timestamp: string): string => `${clientKey}|${timestamp}`;

interface SignedRequest {
  readonly method: string;
  /** The path with its query, as it stands in the request line. */
  readonly path: string;
  /** X-TIMESTAMP, as sent. */
  readonly timestamp: string;
}

/** Symmetric (type 1): with the access token. */
export const symmetricStringToSign = (
  { method, path, timestamp }: SignedRequest,
  bodyHash: string,
  accessToken: string | null,
): string => `${method}:${path}:${accessToken}:${bodyHash}:${timestamp}`;

/** Asymmetric (type 2): without a token. */
export const asymmetricStringToSign = ({ method, path, timestamp }: SignedRequest, bodyHash: string): string =>
  `${method}:${path}:${bodyHash}:${timestamp}`;

/** `bodyHash` above, of a minified body: SHA-256 in lower-case hex. */
export const bodyHashOf = (body: string | Buffer): string => hash('sha256', body, 'hex');
