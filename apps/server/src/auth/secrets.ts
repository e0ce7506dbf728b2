import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 random bits, which cannot be guessed. */
export const generateSecret = (): string => randomBytes(32).toString('base64url');

/**
 * SHA-256 suffices because secrets are generated, never chosen: no dictionary contains them, and a slow hash would let
 * a flood of token requests exhaust the processor.
 */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** Takes the same time for every secret. */
export const matchesSecret = (secret: string, hash: Buffer): boolean => timingSafeEqual(hashSecret(secret), hash);

const NO_SECRET = Buffer.alloc(32);

/**
 * Which of two hashes the secret has; null if neither. Takes the same time for every secret, whichever it is, and
 * whether there are two, one or none.
 */
export function findMatch(secret: string, first: Buffer | null, second: Buffer | null): Buffer | null {
  const hash = hashSecret(secret);
  const isFirst = timingSafeEqual(hash, first ?? NO_SECRET);
  const isSecond = timingSafeEqual(hash, second ?? NO_SECRET);
  if (isFirst) return first;
  return isSecond ? second : null;
}

/** Encrypts secrets that the database stores (AES-256-GCM, NIST SP 800-38D). */
export interface Seal {
  seal(plain: string): Buffer;
  /** @throws Error when the value was sealed with a key that is not known here, or was changed. */
  open(sealed: Buffer): string;
}

/** A seal with the keys of the settings: one, or two while a key is being replaced. */
export interface Keyring extends Seal {
  /** The ID of TIBA_SECRET_KEY. */
  readonly currentKeyId: string;
  /** With the ID of TIBA_SECRET_KEY_PREVIOUS, if there is one. */
  readonly keyIds: readonly string[];
  /** Seals with this key from now on. Before, with TIBA_SECRET_KEY. */
  sealWith(keyId: string): void;
}

/** What is sealed begins with the ID of its key, so that PostgreSQL can count what is sealed with which. */
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Names a key without telling anything about it. */
const keyIdOf = (key: Buffer): string =>
  Buffer.from(hkdfSync('sha256', key, '', 'tiba key id', KEY_ID_BYTES)).toString('hex');

/**
 * @param key `SECRET_KEY_BYTES` bytes (config/values.ts)
 * @param previous the key that is being replaced
 */
export function createSeal(key: Buffer, previous: Buffer | null = null): Keyring {
  const currentKeyId = keyIdOf(key);
  const keys = new Map([[currentKeyId, key]]);
  if (previous !== null) keys.set(keyIdOf(previous), previous);
  let sealing = { id: currentKeyId, key };

  function find(id: string): Buffer {
    const found = keys.get(id);
    if (found === undefined) throw new Error(`a secret is sealed with a key that this process does not have: ${id}`);
    return found;
  }

  return {
    currentKeyId,
    keyIds: [...keys.keys()],
    sealWith(id) {
      sealing = { id, key: find(id) };
    },
    seal(plain) {
      const id = Buffer.from(sealing.id, 'hex');
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', sealing.key, nonce).setAAD(id);
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([id, nonce, cipher.getAuthTag(), body]);
    },
    open(sealed) {
      const id = sealed.subarray(0, KEY_ID_BYTES);
      const [nonceEnd, tagEnd] = [KEY_ID_BYTES + NONCE_BYTES, KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES];
      const nonce = sealed.subarray(KEY_ID_BYTES, nonceEnd);
      const decipher = createDecipheriv('aes-256-gcm', find(id.toString('hex')), nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(id).setAuthTag(sealed.subarray(nonceEnd, tagEnd));
      return Buffer.concat([decipher.update(sealed.subarray(tagEnd)), decipher.final()]).toString('utf8');
    },
  };
}
