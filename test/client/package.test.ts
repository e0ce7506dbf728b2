import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { startTestService, statusUpdate } from '../support/service.ts';
import { COMMANDS, installPackedClient, README_OUTPUT, readmeEnvironment } from './packed-client.ts';

/** The package as npm packs it, installed in an empty project, used as its README says. */

const run = promisify(execFile);

let project: string;
before(async () => {
  project = await mkdtemp(path.join(tmpdir(), 'tiba-client-'));
  await installPackedClient(project);
});
after(() => rm(project, { recursive: true, force: true }));

/** The size of a program that uses only this, minified and gzipped. */
async function gzippedBytes(program: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: project },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    // Nothing of Node may be needed: the same bundle runs in a browser or a worker.
    platform: 'browser',
    write: false,
  });
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length;
}

suite('the packed package', () => {
  for (const [what, program, bytesMax] of [
    ['the client', "export { createTibaClient } from '@tiba/client';", 12_000],
    ['verifyCallback alone', "export { verifyCallback } from '@tiba/client/callbacks';", 1_000],
  ] as const) {
    test(`${what} is under ${bytesMax} bytes, minified and gzipped, and needs nothing of Node`, async (context) => {
      const bytes = await gzippedBytes(program);
      context.diagnostic(`${what}: ${bytes} bytes`);
      assert.ok(bytes < bytesMax, `${bytes} bytes`);
    });
  }

  test('has types for a strict project, and a wrong code does not compile there', async () => {
    await writeFile(
      path.join(project, 'strict.ts'),
      `import { createTibaClient, TibaError } from '@tiba/client';
import { verifyCallback } from '@tiba/client/callbacks';
import { fetchCallbackHandler } from '@tiba/client/handlers';
import { signCallback } from '@tiba/client/testing';
const tiba = createTibaClient({ baseUrl: 'https://tiba.example.com', clientId: 'a', clientSecret: 'b' });
export const amount: string = (await tiba.checkStatus('INV/2026/001')).amount;
export function later(error: unknown): number | null {
  // @ts-expect-error: there is no such code
  if (error instanceof TibaError && error.error_code === 'NOPE') return 1;
  return error instanceof TibaError ? error.retryAfterMs : null;
}
export { fetchCallbackHandler, signCallback, verifyCallback };
`,
    );
    const strict = ['--strict', '--module', 'nodenext', '--target', 'es2023', '--lib', 'es2023,dom', '--types', ''];
    await run(path.join(COMMANDS, 'tsc'), ['--noEmit', ...strict, 'strict.ts'], { cwd: project });
  });

  test('does what its README shows: every example runs, against the real service', async () => {
    const service = await startTestService();
    try {
      await service.feed(statusUpdate({ status: 'SUCCESS', processed_at: '2026-11-21T04:32:31.402Z' }));
      const env = readmeEnvironment(service);
      const { stdout } = await run(process.execPath, ['readme.js'], { cwd: project, env });
      assert.deepEqual(stdout.trim().split('\n'), README_OUTPUT);
    } finally {
      await service.close();
    }
  });
});
