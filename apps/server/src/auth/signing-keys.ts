import { randomBytes } from 'node:crypto';
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { singleFlight } from '../lib/single-flight.ts';
import { StartError } from '../lib/start-error.ts';
import type { Database } from '../postgres/database.ts';
import {
  findSigningKeys,
  insertFirstSigningKey,
  rotateSigningKey,
  type SigningKeyRecord,
} from '../postgres/signing-keys.ts';
import type { Seal } from './secrets.ts';

/** EdDSA is short and fast. RS256 is the algorithm that RFC 9068 (section 2.1) requires every party to support. */
export const SIGNING_ALGORITHMS = ['EdDSA', 'ES256', 'RS256'] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

interface SigningKey {
  readonly keyId: string;
  readonly algorithm: string;
  readonly publicJwk: JWK;
  readonly publicKey: CryptoKey;
}

/** The built-in issuer's keys, stored in the database so that all processes sign and verify with the same ones. */
export interface SigningKeys {
  /** Whether there is a current key. */
  canSign(): boolean;
  /** The key that signs new tokens. @throws Error when there is none. */
  current(): { readonly keyId: string; readonly algorithm: string; readonly privateKey: CryptoKey };
  /** The key that verifies tokens with this `kid`, bound to its algorithm. */
  find(keyId: string | undefined): { readonly algorithm: string; readonly publicKey: CryptoKey } | undefined;
  /** The public keys as a JWK Set (RFC 7517, section 5). */
  jwks(): { readonly keys: readonly JWK[] };
  reload(): Promise<void>;
}

export interface SigningKeysDependencies {
  readonly database: Database;
  readonly seal: Seal;
  /** The longest lifetime of a token: a retired key still verifies for this time. */
  readonly tokenLifetimeMaxSeconds: number;
}

export function createSigningKeys({ database, seal, tokenLifetimeMaxSeconds }: SigningKeysDependencies): SigningKeys {
  let verifying = new Map<string, SigningKey>();
  let signing: ReturnType<SigningKeys['current']> | undefined;

  return {
    canSign: () => signing !== undefined,
    current() {
      if (signing === undefined) throw new Error('there is no signing key');
      return signing;
    },
    find: (keyId) => (keyId === undefined ? undefined : verifying.get(keyId)),
    jwks: () => ({ keys: [...verifying.values()].map(({ publicJwk }) => publicJwk) }),
    reload: singleFlight(async () => {
      const records = await findSigningKeys(database, tokenLifetimeMaxSeconds);
      const keys = await Promise.all(records.map(toSigningKey));
      const newest = records.find((record) => !record.retired);
      if (newest !== undefined) {
        const privateKey = await importKey(openPrivateJwk(newest, seal), newest.algorithm);
        signing = { keyId: newest.keyId, algorithm: newest.algorithm, privateKey };
      }
      verifying = new Map(keys.map((key) => [key.keyId, key]));
    }),
  };
}

/**
 * Creates the key that signs from now on. The others still verify until their tokens have expired.
 * @throws StartError when the current key was sealed with another secret key
 */
export async function rotateSigningKeys(database: Database, seal: Seal, algorithm: SigningAlgorithm): Promise<string> {
  await requireSameSecretKey(database, seal);
  const key = await generateSigningKey(seal, algorithm);
  await rotateSigningKey(database, key);
  return key.keyId;
}

/** Creates the key that signs, unless another process has done so. */
export async function createFirstSigningKey(database: Database, seal: Seal): Promise<void> {
  await insertFirstSigningKey(database, await generateSigningKey(seal, 'EdDSA'));
}

async function generateSigningKey(seal: Seal, algorithm: SigningAlgorithm) {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const keyId = randomBytes(12).toString('base64url');
  return {
    keyId,
    algorithm,
    publicJwk: { ...(await exportJWK(publicKey)), kid: keyId, alg: algorithm, use: 'sig' },
    privateJwkSealed: seal.seal(JSON.stringify(await exportJWK(privateKey))),
  };
}

/**
 * @throws StartError when the current key was sealed with another secret key: the running processes, which have that
 * one, could open nothing that is sealed with this one
 */
async function requireSameSecretKey(database: Database, seal: Seal): Promise<void> {
  const current = (await findSigningKeys(database, 0)).find(({ retired }) => !retired);
  if (current !== undefined) openPrivateJwk(current, seal);
}

function openPrivateJwk({ privateJwkSealed }: SigningKeyRecord, seal: Seal): JWK {
  try {
    return JSON.parse(seal.open(privateJwkSealed)) as JWK;
  } catch (error) {
    throw new StartError(
      'TIBA_SECRET_KEY is not the key that sealed the signing keys in the database: set the same key for all processes',
      { cause: error },
    );
  }
}

async function toSigningKey(record: SigningKeyRecord): Promise<SigningKey> {
  const publicJwk = record.publicJwk as JWK;
  const publicKey = await importKey(publicJwk, record.algorithm);
  return { keyId: record.keyId, algorithm: record.algorithm, publicJwk, publicKey };
}

async function importKey(jwk: JWK, algorithm: string): Promise<CryptoKey> {
  const key = await importJWK(jwk, algorithm);
  if (key instanceof Uint8Array) throw new Error('a signing key must be asymmetric');
  return key;
}
