/** One line of an NDJSON stream; `bytes` is null when the line was longer than the limit. */
export interface NdjsonLine {
  /** From 1. Blank lines are counted but not yielded. */
  readonly line: number;
  readonly bytes: Buffer | null;
}

/** Splits a stream into lines. Holds one chunk and the unfinished line in memory, whatever the stream's length. */
export async function* ndjsonLines(stream: AsyncIterable<Buffer>, lineBytesMax: number): AsyncGenerator<NdjsonLine> {
  let line = 0;
  for await (const block of blocks(stream, lineBytesMax)) {
    for (const bytes of linesOf(block, lineBytesMax)) {
      line += 1;
      if (bytes === null || !isBlank(bytes)) yield { line, bytes };
    }
  }
}

/** One line as text, or the reason why there is none. */
export interface NdjsonText {
  readonly line: number;
  readonly text: string | null;
  readonly unreadable: 'too long' | 'not UTF-8' | null;
}

/**
 * The same, as text, and all lines of a chunk at once: a promise for each line, and a call of the decoder, would cost
 * a long feed more than what is done with the line.
 */
export async function* ndjsonTexts(stream: AsyncIterable<Buffer>, lineBytesMax: number): AsyncGenerator<NdjsonText[]> {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  let line = 0;
  for await (const block of blocks(stream, lineBytesMax)) {
    const texts: NdjsonText[] = [];
    for (const read of textsOf(utf8, block, lineBytesMax)) {
      line += 1;
      if (typeof read !== 'string') texts.push({ line, text: null, unreadable: read.unreadable });
      else if (!BLANK.test(read)) texts.push({ line, text: read, unreadable: null });
    }
    if (texts.length > 0) yield texts;
  }
}

const NEWLINE = 0x0a;
const EMPTY = Buffer.alloc(0);
const BLANK = /^[ \t\r]*$/;

/** Complete lines, as many as a chunk has, without the last line end; null for one that is too long. */
async function* blocks(stream: AsyncIterable<Buffer>, lineBytesMax: number): AsyncGenerator<Buffer | null> {
  let unfinished: Buffer[] = [];
  let unfinishedBytes = 0;

  function keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    unfinishedBytes += bytes.length;
    // The rest of a line that is already too long is counted, not kept.
    if (unfinishedBytes <= lineBytesMax) unfinished.push(bytes);
    else unfinished = [];
  }

  function finish(end: Buffer): Buffer | null {
    const isTooLong = unfinishedBytes + end.length > lineBytesMax;
    const line = isTooLong ? null : Buffer.concat([...unfinished, end]);
    unfinished = [];
    unfinishedBytes = 0;
    return line;
  }

  for await (const chunk of stream) {
    const last = chunk.lastIndexOf(NEWLINE);
    let start = 0;
    if (last !== -1 && unfinishedBytes > 0) {
      const end = chunk.indexOf(NEWLINE);
      yield finish(chunk.subarray(0, end));
      start = end + 1;
    }
    if (last >= start) yield chunk.subarray(start, last);
    keep(chunk.subarray(last + 1));
  }
  if (unfinishedBytes > 0) yield finish(EMPTY);
}

function* linesOf(block: Buffer | null, lineBytesMax: number): Generator<Buffer | null> {
  if (block === null) {
    yield null;
    return;
  }
  for (let start = 0; ; ) {
    const newline = block.indexOf(NEWLINE, start);
    const end = newline === -1 ? block.length : newline;
    yield end - start > lineBytesMax ? null : block.subarray(start, end);
    if (newline === -1) return;
    start = newline + 1;
  }
}

type Unreadable = Pick<NdjsonText, 'unreadable'>;

const TOO_LONG: Unreadable = { unreadable: 'too long' };
const NOT_UTF_8: Unreadable = { unreadable: 'not UTF-8' };

function textsOf(utf8: TextDecoder, block: Buffer | null, lineBytesMax: number): (string | Unreadable)[] {
  // Then no line of it is too long.
  if (block !== null && block.length <= lineBytesMax) {
    const text = decode(utf8, block);
    // The decoder removes a byte order mark at the start only.
    if (typeof text === 'string' && !text.includes('\ufeff')) return text.split('\n');
  }
  return Array.from(linesOf(block, lineBytesMax), (bytes) => (bytes === null ? TOO_LONG : decode(utf8, bytes)));
}

function decode(utf8: TextDecoder, bytes: Buffer): string | Unreadable {
  try {
    return utf8.decode(bytes);
  } catch {
    return NOT_UTF_8;
  }
}

const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
