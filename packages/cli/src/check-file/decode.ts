import { isUtf8 } from 'node:buffer';

/** What spreadsheet programs write. Windows-1252 has a character for nearly every byte, so it is the last guess. */
export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const;
export type Encoding = (typeof ENCODINGS)[number];

export interface DecodedText {
  readonly text: string;
  readonly encoding: Encoding;
  readonly hasByteOrderMark: boolean;
}

const BYTE_ORDER_MARKS: readonly (readonly [Encoding, Buffer])[] = [
  ['utf-8', Buffer.from('efbbbf', 'hex')],
  ['utf-16le', Buffer.from('fffe', 'hex')],
  ['utf-16be', Buffer.from('feff', 'hex')],
];

/** The text of a file: by its byte order mark, or else by what its bytes can be. `given` overrides both. */
export function decodeText(bytes: Buffer, given: Encoding | null): DecodedText {
  const [marked = null] = BYTE_ORDER_MARKS.find(([, mark]) => bytes.subarray(0, mark.length).equals(mark)) ?? [];
  const encoding = given ?? marked ?? guess(bytes);
  // The decoder removes the mark of its own encoding.
  const text = new TextDecoder(encoding).decode(bytes);
  return { text, encoding, hasByteOrderMark: marked !== null && marked === encoding };
}

const SAMPLE_BYTES = 4_096;

/** UTF-16 without a mark: Latin letters and digits have a zero in every other byte, and no other encoding has any. */
function guess(bytes: Buffer): Encoding {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const zeros = [0, 0];
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (Math.max(even, odd) > sample.length / 4) return odd > even ? 'utf-16le' : 'utf-16be';
  return isUtf8(bytes) ? 'utf-8' : 'windows-1252';
}
