import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * The secrets of sessions, which cookies hold: a random value with a tag (HMAC-SHA-256). A secret that this
 * installation has not made is known by its tag, without PostgreSQL: otherwise each made-up cookie would cost a query.
 */
export interface SessionSecrets {
  generate(): string;
  /** Whether this installation has made it. The session may have ended. */
  isOwn(secret: string): boolean;
}

/** 256 bits, which cannot be guessed. */
const RANDOM_BYTES = 32;
/** 96 bits (RFC 2104, section 5): a guessed tag costs one query, and opens no session. */
const TAG_BYTES = 12;

/** Of the text, in base64url. */
export const SESSION_SECRET_LENGTH = Math.ceil(((RANDOM_BYTES + TAG_BYTES) * 4) / 3);

/** All processes of the installation have the same data key. */
export function createSessionSecrets(dataKey: Buffer): SessionSecrets {
  const key = Buffer.from(hkdfSync('sha256', dataKey, '', 'tiba session cookie', RANDOM_BYTES));
  const tagOf = (random: Buffer): Buffer => createHmac('sha256', key).update(random).digest().subarray(0, TAG_BYTES);
  return {
    generate() {
      const random = randomBytes(RANDOM_BYTES);
      return Buffer.concat([random, tagOf(random)]).toString('base64url');
    },
    isOwn(secret) {
      const bytes = Buffer.from(secret, 'base64url');
      if (bytes.length !== RANDOM_BYTES + TAG_BYTES) return false;
      return timingSafeEqual(bytes.subarray(RANDOM_BYTES), tagOf(bytes.subarray(0, RANDOM_BYTES)));
    },
  };
}
