import type { TestEvent } from 'node:test/reporters';

const LISTED = 15;

/** A reporter for `node --test`: the files that took longest, so that a suite that grows slow shows where. */
export default async function* slowestFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: { file: string; durationMs: number }[] = [];
  for await (const { type, data } of events) {
    // A file is a suite (support/run-files.ts).
    if ((type === 'test:pass' || type === 'test:fail') && data.nesting === 0)
      files.push({ file: data.name, durationMs: data.details.duration_ms });
  }
  files.sort((a, b) => b.durationMs - a.durationMs);
  yield `\nthe slowest of ${files.length} files, in seconds:\n`;
  for (const { file, durationMs } of files.slice(0, LISTED)) {
    yield `${(durationMs / 1000).toFixed(1).padStart(8)}  ${file}\n`;
  }
}
