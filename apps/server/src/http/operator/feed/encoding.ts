import { Readable, type Transform } from 'node:stream';
import zlib from 'node:zlib';
import type { onRequestHookHandler, preParsingHookHandler } from 'fastify';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { ApiError } from '../../errors.ts';

/** Bodies of the feed that are compressed (RFC 9110, section 8.4; zstd: RFC 9659). */

/** Of one feed. A longer one is sent in parts. */
const DECOMPRESSED_BYTES_MAX = 16 * 1024 ** 3;
/** Far more than lines of a feed shrink by, similar as they are. What shrinks more is an attack, or a mistake. */
const RATIO_MAX = 200;
/** A few lines that are all alike shrink more. */
const RATIO_FREE_BYTES = 16 * 1024 * 1024;
/** The window that RFC 9659 allows is 8 MiB: the decoder's memory. */
const ZSTD_WINDOW_LOG_MAX = 23;
/** As much as a socket gives at once. */
const CHUNK_BYTES = 64 * 1024;

/** `bytesWritten`: the compressed bytes that it has read. */
type Decoder = Transform & { readonly bytesWritten: number };

/** They read several frames (zstd) or members (gzip), and end before anything else. */
const DECODERS: Readonly<Record<string, () => Decoder>> = {
  gzip: () => zlib.createGunzip({ chunkSize: CHUNK_BYTES }),
  zstd: () =>
    zlib.createZstdDecompress({
      chunkSize: CHUNK_BYTES,
      params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
    }),
};

const encodingOf = (header: string | undefined): string => (header ?? 'identity').trim().toLowerCase();

/** An onRequest hook: another encoding is UNSUPPORTED_MEDIA_TYPE, and the answer names these (RFC 9110, 15.5.16). */
export const requireEncoding: onRequestHookHandler = ({ headers }, _reply, done) => {
  const encoding = encodingOf(headers['content-encoding']);
  const isRead = encoding === 'identity' || Object.hasOwn(DECODERS, encoding);
  done(isRead ? undefined : new ApiError('UNSUPPORTED_MEDIA_TYPE', { message: NO_DECODER, headers: ENCODINGS }));
};

const ENCODINGS = { 'accept-encoding': 'zstd, gzip' };

const NO_DECODER = englishOnly(
  'Unsupported Content-Encoding: compress the body once, with zstd or gzip, or send it uncompressed',
);

/** A preParsing hook: the body's bytes as they were before the sender compressed them. */
export const decompressBody: preParsingHookHandler = ({ headers }, reply, payload, done) => {
  const decoder = DECODERS[encodingOf(headers['content-encoding'])]?.();
  if (decoder === undefined) return done(null, payload);
  let receivedBytes = 0;
  payload.on('data', (chunk: Buffer) => (receivedBytes += chunk.length));
  // Without `pipeline`: it would destroy the request with the decoder, and the answer could not be sent.
  payload.pipe(decoder);
  payload.once('error', (error) => decoder.destroy(error));
  // A body that was not read to its end would otherwise hold up the next request of the connection.
  reply.raw.once('finish', () => {
    payload.unpipe(decoder);
    decoder.destroy();
    payload.resume();
  });
  const decompressed = Readable.from(
    bounded(decoder, () => receivedBytes),
    { objectMode: false, highWaterMark: CHUNK_BYTES },
  );
  // A reader gets the error. Without one, as after an answer, an error that has no listener would end the process.
  decoder.on('error', () => {});
  decompressed.on('error', () => {});
  // Fastify compares it with Content-Length.
  Object.defineProperty(decompressed, 'receivedEncodedLength', { get: () => decoder.bytesWritten });
  done(null, decompressed);
};

/** Holds a chunk or two, whatever the bytes expand to. @throws ApiError */
async function* bounded(decoder: Decoder, receivedBytes: () => number): AsyncGenerator<Buffer> {
  let bytes = 0;
  try {
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > DECOMPRESSED_BYTES_MAX) throw new ApiError('PAYLOAD_TOO_LARGE', { message: TOO_LONG });
      if (bytes > RATIO_FREE_BYTES && bytes > RATIO_MAX * decoder.bytesWritten) {
        throw new ApiError('PAYLOAD_TOO_LARGE', { message: TOO_DENSE });
      }
      yield chunk;
    }
  } catch (error) {
    throw isBroken(error) ? new ApiError('INVALID_FORMAT', { message: BROKEN, cause: error }) : error;
  }
  // Lines may follow that were not read.
  if (decoder.bytesWritten < receivedBytes()) throw new ApiError('INVALID_FORMAT', { message: BROKEN });
}

/** zlib's codes, and that of a decoder that has ended and gets more to decode; the connection's are others. */
const isBroken = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  /^(?:Z_|ZSTD_|ERR_ZLIB|ERR_STREAM_PUSH_AFTER_EOF)/.test(String(error.code));

const TOO_LONG = englishOnly(
  `The decompressed body is too large: send at most ${DECOMPRESSED_BYTES_MAX / 1024 ** 3} GiB, the rest in another ` +
    'request. What was stored stays, and nothing is applied twice',
);
const TOO_DENSE = englishOnly(
  `The body expands to more than ${RATIO_MAX} times its size: send it uncompressed. What was stored stays, and ` +
    'nothing is applied twice',
);
const BROKEN = englishOnly(
  'Invalid format: the body is not what Content-Encoding says, is cut off, has other bytes after it, or needs a ' +
    'window of more than 8 MiB (zstd without --ultra and --long): compress it again and send the whole feed, nothing ' +
    'is applied twice',
);
