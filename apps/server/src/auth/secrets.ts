import { createCipheriv, createDecipheriv, createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 random bits, which cannot be guessed. */
export const generateSecret = (): string => randomBytes(32).toString('base64url');

/**
 * SHA-256 suffices because secrets are generated, never chosen: no dictionary contains them, and a slow hash would let
 * a flood of token requests exhaust the processor.
 */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** Takes the same time for every secret. */
export const matchesSecret = (secret: string, hash: Buffer): boolean => timingSafeEqual(hashSecret(secret), hash);

/** Encrypts secrets that the database stores (AES-256-GCM, NIST SP 800-38D). */
export interface Seal {
  seal(plain: string): Buffer;
  /** @throws Error when the value was sealed with another key, or was changed. */
  open(sealed: Buffer): string;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** @param key `SECRET_KEY_BYTES` bytes (config-values.ts) */
export function createSeal(key: Buffer): Seal {
  return {
    seal(plain) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },
    open(sealed) {
      const nonce = sealed.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const body = sealed.subarray(NONCE_BYTES + TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    },
  };
}
