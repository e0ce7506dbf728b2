/** One line of an NDJSON stream; `bytes` is null when the line was longer than the limit. */
export interface NdjsonLine {
  /** From 1. Blank lines are counted but not yielded. */
  readonly line: number;
  readonly bytes: Buffer | null;
}

/** Splits a stream into lines. Holds one chunk and the unfinished line in memory, whatever the stream's length. */
export async function* ndjsonLines(stream: AsyncIterable<Buffer>, lineBytesMax: number): AsyncGenerator<NdjsonLine> {
  let unfinished: Buffer[] = [];
  let unfinishedBytes = 0;
  let line = 0;

  function finish(end: Buffer): NdjsonLine | null {
    line += 1;
    const tooLong = unfinishedBytes + end.length > lineBytesMax;
    const bytes = unfinished.length === 0 ? end : Buffer.concat([...unfinished, end]);
    unfinished = [];
    unfinishedBytes = 0;
    if (tooLong) return { line, bytes: null };
    return isBlank(bytes) ? null : { line, bytes };
  }

  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const finished = finish(chunk.subarray(start, end));
      if (finished !== null) yield finished;
      start = end + 1;
    }
    const rest = chunk.subarray(start);
    unfinishedBytes += rest.length;
    // The rest of a line that is already too long is counted, not kept.
    if (unfinishedBytes <= lineBytesMax) unfinished.push(rest);
    else unfinished = [];
  }
  if (unfinishedBytes > 0) {
    const finished = finish(Buffer.alloc(0));
    if (finished !== null) yield finished;
  }
}

const NEWLINE = 0x0a;

const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
