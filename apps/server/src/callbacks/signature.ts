import { createHmac, randomBytes } from 'node:crypto';
import type { Seal } from '../auth/secrets.ts';

/** The start of a secret; the base64 of its bytes follows (Standard Webhooks, "Signature scheme"). */
const SECRET_PREFIX = 'whsec_';
/** Standard Webhooks allows 24 to 64 random bytes. */
const SECRET_BYTES = 32;

/** A new secret: `whsec_` and base64. */
export const newCallbackSecret = (): string => SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');

/** The bytes of a secret from its text `whsec_…`. @throws Error when they are empty. */
export function secretKeyOf(secret: string): Buffer {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  const key = Buffer.from(encoded, 'base64');
  // HMAC accepts an empty key, and anyone can compute the same signature.
  if (key.length === 0) throw new Error('the secret of a callback endpoint is empty');
  return key;
}

export interface SignedContent {
  /** The header webhook-id. It must not contain a dot: dots separate the signed fields. */
  readonly id: string;
  /** The header webhook-timestamp. */
  readonly unixSeconds: number;
  /** The request body, byte for byte. */
  readonly body: string;
}

/**
 * The header webhook-signature: HMAC-SHA256 with each key, separated by spaces. A receiver that knows one of the
 * secrets can verify it.
 */
export function sign(keys: readonly Buffer[], { id, unixSeconds, body }: SignedContent): string {
  const content = `${id}.${unixSeconds}.${body}`;
  return keys.map((key) => `v1,${createHmac('sha256', key).update(content, 'utf8').digest('base64')}`).join(' ');
}

/** Unsealing costs more than signing, so the keys used most recently stay in memory. */
const CACHED_KEYS_MAX = 1_000;

/** Returns a function that unseals the secret of an endpoint. */
export function createKeyCache(seal: Seal): (sealed: Buffer) => Buffer {
  /** Least recently used first. */
  const keys = new Map<string, Buffer>();
  return (sealed) => {
    const name = sealed.toString('latin1');
    const cached = keys.get(name);
    const key = cached ?? secretKeyOf(seal.open(sealed));
    if (cached !== undefined) keys.delete(name);
    keys.set(name, key);
    if (keys.size > CACHED_KEYS_MAX) {
      const [oldest] = keys.keys();
      if (oldest !== undefined) keys.delete(oldest);
    }
    return key;
  };
}
