import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import type { SnapClientRecord, SnapPublicKey } from '../postgres/snap-clients.ts';
import type { Seal } from './secrets.ts';

/** A text that is no RSA public key in the form that is needed; the message says what to send instead. */
export class InvalidPublicKey extends Error {}

/** ASPI, "keamanan": RSA of 2048 bits or more. */
const RSA_BITS_MIN = 2_048;
/** Verification takes longer with each bit, and an attacker chooses nothing here: this is a bound on mistakes. */
const RSA_BITS_MAX = 8_192;
const PEM = /^-----BEGIN PUBLIC KEY-----[\sA-Za-z0-9+/=]+-----END PUBLIC KEY-----$/;

/**
 * Reads an RSA public key (PEM, SubjectPublicKeyInfo). Its key ID is the start of its SHA-256, so that both sides can
 * compute it. @throws InvalidPublicKey
 */
export function readSnapPublicKey(pem: string): SnapPublicKey {
  // Node would take the public part out of a private key. The operator must learn that it was sent one.
  if (pem.includes('PRIVATE KEY')) {
    throw new InvalidPublicKey('this is a private key, which only the client may have: ask for the public key');
  }
  if (!PEM.test(pem.trim())) {
    throw new InvalidPublicKey('an RSA public key is needed, in PEM: it begins with -----BEGIN PUBLIC KEY-----');
  }
  const key = parsePublicKey(pem);
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== 'rsa' || bits < RSA_BITS_MIN || bits > RSA_BITS_MAX) {
    throw new InvalidPublicKey(`the key must be RSA of ${RSA_BITS_MIN} to ${RSA_BITS_MAX} bits`);
  }
  const publicKey = key.export({ type: 'spki', format: 'pem' });
  return { keyId: hash('sha256', key.export({ type: 'spki', format: 'der' }), 'hex').slice(0, 16), publicKey };
}

function parsePublicKey(pem: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch (cause) {
    throw new InvalidPublicKey('this PEM holds no public key', { cause });
  }
}

/** The keys of a client, ready to verify its signatures. */
export interface SnapCredentials {
  /** RSA, for asymmetric signatures. */
  readonly publicKeys: readonly KeyObject[];
  /** For symmetric signatures (HMAC-SHA512): the present secret, and the former one while it is accepted. */
  secrets(): readonly string[];
}

/** Opens a client's keys at its first request, and keeps them until the client is read again. */
export function createSnapCredentials(seal: Seal): (client: SnapClientRecord) => SnapCredentials {
  const opened = new WeakMap<SnapClientRecord, SnapCredentials>();
  return (client) => {
    const known = opened.get(client);
    if (known !== undefined) return known;
    const credentials = openCredentials(client, seal);
    opened.set(client, credentials);
    return credentials;
  };
}

/** @throws Error when a secret was sealed with another TIBA_SECRET_KEY */
function openCredentials(client: SnapClientRecord, seal: Seal): SnapCredentials {
  const { secretSealed, formerSecretSealed, formerSecretUntilMs, publicKeys } = client;
  const present = secretSealed === null ? [] : [seal.open(secretSealed)];
  const both = formerSecretSealed === null ? present : [...present, seal.open(formerSecretSealed)];
  return {
    publicKeys: publicKeys.map(({ publicKey }) => createPublicKey(publicKey)),
    secrets: () => (Date.now() < formerSecretUntilMs ? both : present),
  };
}
