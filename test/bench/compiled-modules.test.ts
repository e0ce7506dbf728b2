import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startChild } from '../../bench/child.ts';
import type { RecordedResponse } from '../../bench/load/record.ts';

const RESPONSE: RecordedResponse = { status: 200, headers: [], body: '', keepAliveTimeoutMs: 1_000 };

// Regression: each child wrote all compiled modules when it ended, over the same files. On a slow disk this took longer
// than a child has to end.
test('children of the benchmark share compiled modules, and only the first writes them', async (context) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-bench-child-'));
  context.after(() => rm(directory, { recursive: true, force: true }));
  // A run of all tests has one for all.
  delete process.env['NODE_COMPILE_CACHE'];
  const start = () => startChild({ file: 'baseline-server.ts', settings: RESPONSE, cores: null, directory });

  const first = await start();
  const compiled = await compiledIn(directory);
  assert.ok(compiled.length > 0, 'the modules are stored as soon as the first child is ready');
  const second = await start();
  await Promise.all([first.stop(), second.stop()]);
  assert.deepEqual(await compiledIn(directory), compiled);
});

/** With the inode of each file: a file that is written again has another one. */
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
