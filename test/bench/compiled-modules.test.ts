import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startChild } from '../../bench/child.ts';
import type { RecordedAnswer } from '../../bench/load/record.ts';

const ANSWER: RecordedAnswer = { status: 200, headers: [], body: '', keepAliveTimeoutMs: 1_000 };

// Each wrote all of them at its end, one after another over the same files: a slow disk took longer than they are given.
test('children of the benchmark find what the first has compiled, and do not write it again at their end', async (context) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-bench-child-'));
  context.after(() => rm(directory, { recursive: true, force: true }));
  const start = () => startChild({ file: 'bare-server.ts', settings: ANSWER, cores: null, directory });

  const first = await start();
  const left = await compiledIn(directory);
  assert.ok(left.length > 0, 'there as soon as the first is ready');
  const second = await start();
  await Promise.all([first.stop(), second.stop()]);
  assert.deepEqual(await compiledIn(directory), left);
});

/** A file that is written again is another file. */
async function compiledIn(directory: string): Promise<{ name: string; inode: number }[]> {
  const names = await readdir(path.join(directory, 'compiled'), { recursive: true });
  const files = await Promise.all(
    names.sort().map(async (name) => {
      const found = await stat(path.join(directory, 'compiled', name));
      return found.isFile() ? [{ name, inode: found.ino }] : [];
    }),
  );
  return files.flat();
}
