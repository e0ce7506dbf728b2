import { type CryptoKey, importJWK, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import { createSeal } from '../../apps/server/src/auth/secrets.ts';
import { findInstallationKey } from '../../apps/server/src/postgres/installation-key.ts';
import { findSigningKeys, type SigningKeyRecord } from '../../apps/server/src/postgres/signing-keys.ts';
import type { TestService } from '../support/service.ts';

/** The seal of the services that the test harness starts. */
export const testSeal = createSeal(Buffer.alloc(32, 7));

/** The data key of a service that the test harness started. */
export async function dataKeyOf(service: TestService): Promise<Buffer> {
  const key = await findInstallationKey(service.app.database);
  if (key === null) throw new Error('there is no data key');
  return Buffer.from(testSeal.open(key.dataKeySealed), 'base64');
}

/** The current signing key, read from the database: tests sign tokens with it that the issuer would never issue. */
export async function currentKey(service: TestService): Promise<{ record: SigningKeyRecord; privateKey: CryptoKey }> {
  const [record] = await findSigningKeys(service.app.database, 60);
  if (record === undefined) throw new Error('there is no signing key');
  const privateKey = await importJWK(JSON.parse(testSeal.open(record.privateJwkSealed)) as JWK, record.algorithm);
  if (privateKey instanceof Uint8Array) throw new Error('the signing key is not asymmetric');
  return { record, privateKey };
}

/** All claims of a valid token of `clientId`, with changes; a change to undefined removes a claim. */
export function validClaims(
  issuer: string,
  clientId: string,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  return {
    iss: issuer,
    aud: issuer,
    sub: clientId,
    client_id: clientId,
    iat: nowSeconds,
    exp: nowSeconds + 900,
    jti: 'a token of the tests',
    scope: 'status:read account:check',
    ...changes,
  };
}

export interface Signer {
  readonly key: CryptoKey | Uint8Array;
  readonly header: JWTHeaderParameters;
}

export const signToken = (claims: Record<string, unknown>, { key, header }: Signer): Promise<string> =>
  new SignJWT(claims).setProtectedHeader(header).sign(key);

/** A token without a signature, as `alg: none` has it (RFC 7519, section 6). */
export function unsignedToken(
  claims: Record<string, unknown>,
  header: Record<string, unknown>,
  signature = '',
): string {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${encode(header)}.${encode(claims)}.${signature}`;
}
