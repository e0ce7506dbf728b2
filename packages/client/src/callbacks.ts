import { parseExact } from './decimal.ts';
import type { Callback } from './generated/api.ts';

export type { Callback } from './generated/api.ts';

/** `Headers`, or the object of node:http, Express and Fastify. */
export type CallbackHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far `webhook-timestamp` may be away from the clock: otherwise an intercepted callback could be sent again. */
  readonly toleranceSeconds?: number | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

export interface VerifiedCallback {
  /** `webhook-id`: the same at each attempt. Store it under a unique key, and ignore what is there already. */
  readonly id: string;
  /** When this attempt was sent. */
  readonly sentAt: Date;
  /** New kinds may be added: ignore a `type` that you do not know, and answer with a 2xx. */
  readonly callback: Callback;
}

/** The request is not a callback of the service, or not a fresh one: answer with 401 and ignore it. */
export class CallbackError extends Error {
  override readonly name = 'CallbackError';
}

const KEY_BYTES_MIN = 24;
const TOLERANCE_SECONDS = 300;

/**
 * Verifies a callback and returns what it carries (Standard Webhooks: HMAC-SHA256, compared in constant time).
 * @param body as it was received, before any parser changed it
 * @param secrets one, or several while a secret is rotated: one valid signature is enough
 * @throws CallbackError when no signature is valid, or the timestamp is too old or too new
 * @throws TypeError when a secret is not one: a mistake in your configuration
 */
export async function verifyCallback(
  headers: CallbackHeaders,
  body: string | Uint8Array<ArrayBuffer>,
  secrets: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now }: VerifyOptions = {},
): Promise<VerifiedCallback> {
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  if (!/^\d{1,12}$/.test(timestamp) || !(Math.abs(now() / 1_000 - Number(timestamp)) <= toleranceSeconds)) {
    throw new CallbackError('webhook-timestamp is missing, or too far from the clock: check the clock of this machine');
  }
  const content = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const message = new Uint8Array(start.length + content.length);
  message.set(start);
  message.set(content, start.length);
  const given = header(headers, 'webhook-signature').split(' ', SIGNATURES_MAX);
  for (const key of keysOf(secrets)) {
    const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    for (const signature of given) {
      const bytes = signature.startsWith('v1,') ? bytesOf(signature.slice(3)) : null;
      if (bytes === null || !(await crypto.subtle.verify('HMAC', imported, bytes, message))) continue;
      const callback = parseExact(new TextDecoder().decode(content)) as Callback;
      return { id, sentAt: new Date(Number(timestamp) * 1_000), callback };
    }
  }
  throw new CallbackError('no signature is valid: check the secret, and that the body is passed on as it was received');
}

/** The service sends two at most. */
const SIGNATURES_MAX = 8;

function header(headers: CallbackHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  return typeof value === 'string' ? value : '';
}

function keysOf(secrets: string | readonly string[]): Uint8Array<ArrayBuffer>[] {
  const keys = (typeof secrets === 'string' ? [secrets] : secrets).map((each) => bytesOf(each.replace('whsec_', '')));
  const sound = keys.filter((key) => key !== null && key.length >= KEY_BYTES_MIN);
  if (sound.length === 0 || sound.length < keys.length) throw new TypeError('secrets must be texts such as whsec_…');
  return sound as Uint8Array<ArrayBuffer>[];
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
