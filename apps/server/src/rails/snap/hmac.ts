import { hash } from 'node:crypto';

/** In bytes: what the hash works on, and what it comes to. */
const SIZES = { sha256: { block: 64, digest: 32 }, sha512: { block: 128, digest: 64 } } as const;
export type HmacHash = keyof typeof SIZES;

/** Longer messages are rare, and get a buffer of their own size. */
const MESSAGE_BYTES = 1_024;
const UTF_8_BYTES_PER_UNIT = 3;

export type Hmac = (message: string, encoding: 'hex' | 'base64') => string;

/**
 * HMAC (RFC 2104) of many messages, as UTF-8, under one key. The two hashes are put together by hand, because this is on
 * the way of every account check and an Hmac object costs half as much again.
 */
export function createHmac(algorithm: HmacHash, secret: Buffer): Hmac {
  const { block, digest } = SIZES[algorithm];
  const key = secret.length > block ? hash(algorithm, secret, 'buffer') : secret;
  const inner = padded(key, 0x36, block, MESSAGE_BYTES);
  const outer = padded(key, 0x5c, block, digest);

  return (message, encoding) => {
    const bytesMax = message.length * UTF_8_BYTES_PER_UNIT;
    const buffer =
      bytesMax <= MESSAGE_BYTES ? inner : Buffer.concat([inner.subarray(0, block), Buffer.alloc(bytesMax)]);
    const end = block + buffer.write(message, block);
    outer.write(hash(algorithm, buffer.subarray(0, end), 'hex'), block, 'hex');
    return hash(algorithm, outer, encoding);
  };
}

/** A block of the key, mixed with `pad`, with room behind it. */
function padded(key: Buffer, pad: number, blockBytes: number, roomBytes: number): Buffer {
  const bytes = Buffer.alloc(blockBytes + roomBytes).fill(pad, 0, blockBytes);
  for (const [index, byte] of key.entries()) bytes[index] = byte ^ pad;
  return bytes;
}
