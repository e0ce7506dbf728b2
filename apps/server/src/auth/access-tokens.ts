import { randomUUID } from 'node:crypto';
import { decodeJwt, errors, type JWTVerifyGetKey, jwtVerify, SignJWT } from 'jose';
import type { Client } from './clients.ts';
import type { Scope } from './scopes.ts';
import type { SigningKeys } from './signing-keys.ts';

/** The `typ` of access tokens (RFC 9068, section 2.1). */
const TOKEN_TYPE = 'at+jwt';

/** Asymmetric algorithms only: a token "signed" with the public key as an HMAC secret is rejected. */
const ALGORITHMS = ['EdDSA', 'Ed25519', 'ES256', 'ES384', 'PS256', 'RS256'];

/** The difference between the issuer's clock and Tiba's that is tolerated. */
const CLOCK_TOLERANCE_SECONDS = 5;

/** RFC 9068, section 2.2. */
const REQUIRED_CLAIMS = ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti'];

/** The claims of a token that passed all checks. */
export interface AccessToken {
  readonly clientId: string;
  /** As granted. The client may have lost some of them since. */
  readonly scopes: readonly string[];
  /** Seconds since 1970. */
  readonly issuedAtSeconds: number;
  readonly expiresAtSeconds: number;
}

export interface TokenExpectations {
  /** A function, because it is known only once the listener has its address. */
  readonly issuer: () => string;
  readonly audience: () => string;
}

/** Null for an invalid token, whatever is wrong with it. Rejects when the issuer's keys cannot be obtained. */
export type VerifyAccessToken = (token: string) => Promise<AccessToken | null>;

export function createAccessTokenVerifier(getKey: JWTVerifyGetKey, expected: TokenExpectations): VerifyAccessToken {
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, getKey, {
        issuer: expected.issuer(),
        audience: expected.audience(),
        typ: TOKEN_TYPE,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: REQUIRED_CLAIMS,
      });
      const { client_id: clientId, scope = '', iat, exp } = payload;
      if (typeof clientId !== 'string' || typeof scope !== 'string' || iat === undefined || exp === undefined)
        return null;
      // RFC 7519 leaves this to the application. A revocation compares `iat`: a token from the future would survive it.
      if (iat > Date.now() / 1000 + CLOCK_TOLERANCE_SECONDS) return null;
      return { clientId, scopes: scope.split(' '), issuedAtSeconds: iat, expiresAtSeconds: exp };
    } catch (error) {
      if (!(error instanceof errors.JOSEError) || KEYS_UNAVAILABLE.has(error.code)) throw error;
      return null;
    }
  };
}

/**
 * The issuer's keys did not arrive in time, or not with status 200, or not as a JWKS: the token itself may be valid.
 */
const KEYS_UNAVAILABLE: ReadonlySet<string> = new Set([
  errors.JWKSTimeout.code,
  errors.JWKSInvalid.code,
  errors.JOSEError.code,
]);

/** The client that a token names, whether the token is valid or not; null when it names none. */
export function claimedClientId(token: string): string | null {
  try {
    const { client_id: clientId } = decodeJwt(token);
    return typeof clientId === 'string' ? clientId : null;
  } catch {
    return null;
  }
}

/** The keys of the built-in issuer. A token whose header names another algorithm than its key has is rejected. */
export const builtInKeys =
  (keys: SigningKeys): JWTVerifyGetKey =>
  (header) => {
    const key = keys.find(header.kid);
    if (key === undefined || key.algorithm !== header.alg) throw new errors.JWKSNoMatchingKey();
    return key.publicKey;
  };

export type IssueAccessToken = (client: Client, scopes: readonly Scope[], lifetimeSeconds: number) => Promise<string>;

/** Issues the built-in issuer's tokens (RFC 9068). */
export function createAccessTokenIssuer(keys: SigningKeys, expected: TokenExpectations): IssueAccessToken {
  return async (client, scopes, lifetimeSeconds) => {
    const { keyId, algorithm, privateKey } = keys.current();
    // Not before the client's last revocation, or a token obtained within the same second would be revoked from the
    // start.
    const issuedAt = Math.max(Math.floor(Date.now() / 1000), client.tokensValidFromSeconds);
    return new SignJWT({ client_id: client.clientId, scope: scopes.join(' ') })
      .setProtectedHeader({ alg: algorithm, typ: TOKEN_TYPE, kid: keyId })
      .setIssuer(expected.issuer())
      .setAudience(expected.audience())
      .setSubject(client.clientId)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + lifetimeSeconds)
      .setJti(randomUUID())
      .sign(privateKey);
  };
}
