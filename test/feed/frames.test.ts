import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import zlib from 'node:zlib';
import { type FrameDecoder, FramesDecoder } from '../../apps/server/src/http/operator/feed/frames.ts';

/** What Node's decoders do with several frames depends on where the chunks of the body end. */

const FORMATS: Readonly<Record<string, readonly [(bytes: Buffer) => Buffer, () => FrameDecoder]>> = {
  gzip: [zlib.gzipSync, () => zlib.createGunzip()],
  zstd: [zlib.zstdCompressSync, () => zlib.createZstdDecompress()],
};

function decode(chunks: readonly Buffer[], open: () => FrameDecoder): Promise<Buffer> {
  const decoder = new FramesDecoder(open);
  Readable.from(chunks).pipe(decoder);
  return buffer(decoder);
}

const splitAt = (bytes: Buffer, at: number): Buffer[] => [bytes.subarray(0, at), bytes.subarray(at)];

for (const [name, [compress, open]] of Object.entries(FORMATS)) {
  suite(`frames of ${name}`, () => {
    const frames = Buffer.concat(['first\n', '', 'second\n'].map((text) => compress(Buffer.from(text))));

    test('are decoded to the last, wherever a chunk ends', async () => {
      for (let at = 0; at <= frames.length; at += 1) {
        assert.equal(String(await decode(splitAt(frames, at), open)), 'first\nsecond\n', `split at ${at}`);
      }
      const bytes = Array.from(frames, (byte) => Buffer.of(byte));
      assert.equal(String(await decode(bytes, open)), 'first\nsecond\n');
    });

    test('are decoded whole when they expand to more than a chunk', async () => {
      const parts = [
        randomBytes(200_000),
        Buffer.alloc(500_000),
        randomBytes(1),
        Buffer.alloc(65_536),
        Buffer.alloc(1),
      ];
      const decoded = await decode([Buffer.concat(parts.map(compress))], open);
      assert.ok(decoded.equals(Buffer.concat(parts)));
    });

    test('are no body with something else after them, or when one is cut off', async () => {
      for (const rest of [Buffer.from('x'), Buffer.from('{"a":1}'), frames.subarray(0, 5), frames.subarray(0, -2)]) {
        const body = Buffer.concat([frames, rest]);
        for (const at of [0, 10, frames.length, frames.length + 1]) {
          await assert.rejects(decode(splitAt(body, at), open), { code: /^(?:Z_|ZSTD_|ERR_ZLIB)/ }, `split at ${at}`);
        }
      }
    });
  });
}
