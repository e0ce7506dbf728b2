import { createHmac, createPublicKey, type KeyObject, randomBytes, timingSafeEqual, verify } from 'node:crypto';
import type { SnapCredentials } from '../../auth/snap-credentials.ts';
import type { BodyHash } from '../../postgres/snap-clients.ts';
import { bodyHashOf } from '../../snap/string-to-sign.ts';

const HMAC_BYTES = 64;

/** A signature in hex. The shortest signature is an HMAC-SHA512: 128 hex digits, or 88 characters of base64. */
const HEX = /^(?:[0-9a-f]{2}){64,}$/i;

/**
 * The bytes of X-SIGNATURE. Banks write it in base64, ASPI's samples in hex. Null when it is neither. A text of at
 * least 128 hex digits is read as hex: base64 of random bytes practically never has hex digits only.
 */
export function readSignature(text: string): Buffer | null {
  if (HEX.test(text)) return Buffer.from(text, 'hex');
  const bytes = Buffer.from(text, 'base64');
  // Node ignores what is not part of the encoding.
  return bytes.toString('base64') === text ? bytes : null;
}

/** Whether a signature is an HMAC-SHA512, by its length. */
export const isSymmetric = (signature: Buffer): boolean => signature.length === HMAC_BYTES;

/** Compares with every secret, in constant time. */
export function isSignedWithSecret(signature: Buffer, text: string, secrets: readonly string[]): boolean {
  let matches = false;
  for (const secret of secrets) {
    const expected = createHmac('sha512', secret).update(text).digest();
    if (signature.length === expected.length && timingSafeEqual(signature, expected)) matches = true;
  }
  return matches;
}

/**
 * Whether one of the client's keys signed the text (RSA, SHA-256, PKCS #1 v1.5). `credentials` is null for an unknown
 * client: as much is computed then, so that the time does not reveal which clients exist.
 */
export function isSignedWithKey(signature: Buffer, text: string, credentials: SnapCredentials | null): boolean {
  const keys = credentials === null || credentials.publicKeys.length === 0 ? [DECOY] : credentials.publicKeys;
  let matches = false;
  for (const key of keys) {
    if (verify('sha256', Buffer.from(text), key, signature)) matches = true;
  }
  return matches;
}

/** An RSA key without an owner: the modulus is a random odd number of 2,048 bits. */
const DECOY: KeyObject = createDecoy();

function createDecoy(): KeyObject {
  const modulus = randomBytes(256);
  modulus[0] = 0xff;
  modulus[255] = 0xff;
  return createPublicKey({ key: { kty: 'RSA', n: modulus.toString('base64url'), e: 'AQAB' }, format: 'jwk' });
}

/**
 * The hashes that a signature of this body may cover: of the bytes as sent, and of the JSON without the whitespace
 * between its tokens. Some clients remove all whitespace, also inside texts.
 */
export function bodyHashesOf(body: Buffer, form: BodyHash): readonly string[] {
  if (form === 'without_whitespace') return [bodyHashOf(body.toString('utf8').replaceAll(/\s/g, ''))];
  const minified = minify(body.toString('utf8'));
  const asSent = bodyHashOf(body);
  return minified === null ? [asSent] : [asSent, bodyHashOf(minified)];
}

/**
 * JSON without whitespace between its tokens; nothing else changes. Null where there is none to remove. A loop, because
 * its time must grow with the length alone: the sender is not known yet.
 */
function minify(json: string): string | null {
  let minified = '';
  let start = 0;
  let insideText = false;
  for (let index = 0; index < json.length; index += 1) {
    const character = json[index];
    if (character === '"') insideText = !insideText;
    else if (insideText && character === '\\') index += 1;
    else if (!insideText && WHITESPACE.has(character)) {
      minified += json.slice(start, index);
      start = index + 1;
    }
  }
  return start === 0 ? null : minified + json.slice(start);
}

const WHITESPACE: ReadonlySet<string | undefined> = new Set([' ', '\t', '\n', '\r']);
