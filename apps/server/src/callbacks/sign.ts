import { createHmac } from 'node:crypto';

/** How the text of a secret begins; base64 of its bytes follows (Standard Webhooks, "Signature scheme"). */
export const SECRET_PREFIX = 'whsec_';

/** The bytes of a secret as its client was given it. */
export function secretKeyOf(secret: string): Buffer {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  const key = Buffer.from(encoded, 'base64');
  // An empty key signs without complaint, and anybody can make the same signature.
  if (key.length === 0) throw new Error('the secret of a callback endpoint is empty');
  return key;
}

export interface SignedContent {
  /** The header webhook-id. It holds no dot: dots separate what is signed. */
  readonly id: string;
  /** The header webhook-timestamp. */
  readonly unixSeconds: number;
  /** What is sent, byte for byte. */
  readonly body: string;
}

/** The header webhook-signature: HMAC-SHA256 under each key, so that a receiver may know either of two secrets. */
export function sign(keys: readonly Buffer[], { id, unixSeconds, body }: SignedContent): string {
  const content = `${id}.${unixSeconds}.${body}`;
  return keys.map((key) => `v1,${createHmac('sha256', key).update(content, 'utf8').digest('base64')}`).join(' ');
}
