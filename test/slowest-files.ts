import type { TestEvent } from 'node:test/reporters';

const LISTED = 15;

/** A reporter for `node --test`: the files that took longest, so that a suite that grows slow shows where. */
export default async function* slowestFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: { file: string; durationMs: number }[] = [];
  for await (const { type, data } of events) {
    if (type === 'test:summary' && data.file !== undefined)
      files.push({ file: data.file, durationMs: data.duration_ms });
  }
  files.sort((a, b) => b.durationMs - a.durationMs);
  yield `\nthe slowest of ${files.length} files, in seconds:\n`;
  for (const { file, durationMs } of files.slice(0, LISTED)) {
    yield `${(durationMs / 1000).toFixed(1).padStart(8)}  ${file.slice(file.lastIndexOf('/test/') + 1)}\n`;
  }
}
