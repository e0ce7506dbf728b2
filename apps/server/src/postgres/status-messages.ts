import { promisify } from 'node:util';
import { constants, zstdDecompress } from 'node:zlib';
import { ZstdCompress } from 'minizlib';

/**
 * How messages of status updates are stored: one in each line, compressed with zstd. A core that feeds single messages
 * would gain little without a dictionary: what messages have in common compresses well only after it was seen once.
 */

/** Between messages. In JSON text a line feed is nothing but white space. */
const SEPARATOR = '\n';

/**
 * Text as most messages have it, what is most frequent last (RFC 8878, section 5: a dictionary of raw content). It must
 * never change: messages that were stored with it could not be read any more.
 */
const DICTIONARY = Buffer.from(
  '{"expected_by":"2026-01-01T00:00:00.000Z"}\n{"status":"PROCESS","rail_code":"2003600 03"}\n' +
    '"currency":"IDR","bank_name":"Bank Central Asia","source_account_number":"","service_code":"18",' +
    '"external_id":"","bank_reference":"","reversed_at":"","total_amount":"","rail":"","rail_reference":"",' +
    '"status":"FAILED","failure_reason":"ACCOUNT_NOT_FOUND"\n' +
    '{"client_id":"","transaction_id":"TRX","reference_id":"INV","status":"PROCESS","amount":"150000.00",' +
    '"fee":"2500.00","bank_code":"014","account_number":"1234567890","account_name":"","description":"",' +
    '"created_at":"2026-01-01T00:00:00.000Z","processed_at":null,"failure_reason":null}\n' +
    '{"client_id":"","transaction_id":"TRX","reference_id":"INV","status":"SUCCESS","amount":150000.00,' +
    '"fee":2500.00,"bank_code":"014","account_number":"1234567890","account_name":"","description":"",' +
    '"created_at":"2026-01-01T00:00:00.000Z","processed_at":"2026-01-01T00:00:00.000Z"}',
);

/** Messages of a core are so alike that level 3, zstd's default, takes a third more time and saves nothing. */
const LEVEL = 1;

const OPTIONS = {
  dictionary: DICTIONARY,
  params: { [constants.ZSTD_c_compressionLevel]: LEVEL },
  // Whatever is written is a frame of its own.
  flush: constants.ZSTD_e_end,
};

/**
 * Compresses one row after the other. To make and to free one takes three times as long as to compress a message, and a
 * feed of many clients has many rows.
 */
let compressor: ZstdCompress | null = null;

/** `messages` are JSON texts. */
export function compressMessages(messages: readonly string[]): Buffer {
  const used = compressor ?? new ZstdCompress(OPTIONS);
  // One that fails is not used again.
  compressor = null;
  used.write(messages.map((message) => message.replaceAll(SEPARATOR, ' ')).join(SEPARATOR));
  const compressed = used.read();
  if (compressed === null) throw new Error('zstd has compressed nothing');
  compressor = used;
  return compressed;
}

const decompress = promisify(zstdDecompress);

/** In the thread pool: the messages of a large feed take milliseconds. */
export const decompressMessages = async (compressed: Buffer): Promise<string[]> =>
  (await decompress(compressed, { dictionary: DICTIONARY })).toString().split(SEPARATOR);
