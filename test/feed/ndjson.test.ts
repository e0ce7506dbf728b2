import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { type NdjsonLine, ndjsonLines, ndjsonTexts } from '../../apps/server/src/lib/ndjson.ts';

const LINE_BYTES_MAX = 8;

/** The expected lines, computed from the whole text at once. */
function expected(text: string): { line: number; text: string | null }[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines
    .map((line, index) => ({ line: index + 1, text: line.length > LINE_BYTES_MAX ? null : line }))
    .filter((each) => each.text === null || each.text.trim() !== '');
}

async function* inChunks(text: string, cuts: readonly number[]): AsyncGenerator<Buffer> {
  let start = 0;
  for (const cut of [...cuts].sort((one, other) => one - other)) {
    yield Buffer.from(text.slice(start, cut));
    start = Math.max(start, cut);
  }
  yield Buffer.from(text.slice(start));
}

async function* cut(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  let start = 0;
  for (const end of [...cuts].sort((one, other) => one - other)) {
    yield bytes.subarray(start, end);
    start = Math.max(start, end);
  }
  yield bytes.subarray(start);
}

function asDecoded({ line, bytes }: NdjsonLine) {
  if (bytes === null) return { line, text: null, unreadable: 'too long' };
  try {
    return { line, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), unreadable: null };
  } catch {
    return { line, text: null, unreadable: 'not UTF-8' };
  }
}

const asText = ({ line, bytes }: NdjsonLine) => ({ line, text: bytes?.toString() ?? null });

suite('splitting a stream into lines', () => {
  test('does not depend on how the stream is divided into chunks', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\r', '\n', '\n'), maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat({ max: 60 }), { maxLength: 12 }), async (stream, cuts) => {
        const lines = await Array.fromAsync(ndjsonLines(inChunks(stream, cuts), LINE_BYTES_MAX), asText);
        assert.deepEqual(lines, expected(stream));
      }),
      { numRuns: 2_000, ...seed() },
    );
  });

  test('as text, too, with what is not UTF-8 and what is too long', async () => {
    // A byte order mark, a character of several bytes, and a byte that is never valid.
    const unit = fc.constantFrom('a', ' ', '\r', '\n', '\n', '\ufeff', 'é', '\udcff');
    await fc.assert(
      fc.asyncProperty(fc.string({ unit, maxLength: 60 }), fc.array(fc.nat({ max: 60 })), async (stream, cuts) => {
        const bytes = Buffer.concat(
          Array.from(stream, (each) => (each === '\udcff' ? Buffer.from([0xff]) : Buffer.from(each))),
        );
        const texts = await Array.fromAsync(ndjsonTexts(cut(bytes, cuts), LINE_BYTES_MAX));
        const lines = await Array.fromAsync(ndjsonLines(cut(bytes, cuts), LINE_BYTES_MAX));
        // Only a byte order mark makes a line blank that has bytes.
        const shown = lines.map(asDecoded).filter(({ text }) => text?.trim() !== '');
        assert.deepEqual(
          texts.flat().filter(({ text }) => text?.trim() !== ''),
          shown,
        );
      }),
      { numRuns: 1_000, ...seed() },
    );
  });

  test('holds at most the permitted length of a line that is too long', async () => {
    let heldBytes = 0;
    async function* endless(): AsyncGenerator<Buffer> {
      for (let megabyte = 0; megabyte < 200; megabyte += 1) yield Buffer.alloc(1024 * 1024, 'x');
      collectGarbage();
      heldBytes = process.memoryUsage().arrayBuffers;
      yield Buffer.from('\n{}');
    }
    const lines = await Array.fromAsync(ndjsonLines(endless(), 64 * 1024), asText);
    assert.deepEqual(lines, [
      { line: 1, text: null },
      { line: 2, text: '{}' },
    ]);
    assert.ok(heldBytes < 100 * 1024 * 1024, `${heldBytes} bytes are held`);
  });
});

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

function seed(): { seed?: number } {
  const given = process.env['FC_SEED'];
  return given === undefined ? {} : { seed: Number(given) };
}
