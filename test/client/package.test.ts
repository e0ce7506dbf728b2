import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { startTestService, statusUpdate } from '../support/service.ts';

/** The package as npm packs it, installed in an empty project, used as its README says. */

const PACKAGE = fileURLToPath(new URL('../../packages/client/', import.meta.url));
const NPM = fileURLToPath(new URL('../../node_modules/.bin/', import.meta.url));
const run = promisify(execFile);

let project: string;
before(async () => {
  project = await mkdtemp(path.join(tmpdir(), 'tiba-client-'));
  const installed = path.join(project, 'node_modules/@tiba/client');
  await mkdir(installed, { recursive: true });
  const PATH = `${NPM}${path.delimiter}${process.env['PATH'] ?? ''}`;
  await run('npm', ['pack', '--pack-destination', project], { cwd: PACKAGE, env: { ...process.env, PATH } });
  await run('tar', ['-xzf', path.join(project, 'tiba-client-0.1.0.tgz'), '-C', installed, '--strip-components=1']);
  await writeFile(path.join(project, 'package.json'), '{ "type": "module" }');
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
    await run(path.join(NPM, 'tsc'), ['--noEmit', ...strict, 'strict.ts'], { cwd: project });
  });

  test('does what its README shows: every example runs, against the real service', async () => {
    const service = await startTestService();
    try {
      await service.feed(statusUpdate({ status: 'SUCCESS', processed_at: '2026-11-21T04:32:31.402Z' }));
      const readme = await readFile(path.join(project, 'node_modules/@tiba/client/README.md'), 'utf8');
      const examples = [...readme.matchAll(/```js\n([^]*?)```/g)].map(([, code = '']) => code);
      assert.equal(examples.length, 7);
      await writeFile(path.join(project, 'readme.js'), examples.join('\n'));
      const { stdout } = await run(process.execPath, ['readme.js'], {
        cwd: project,
        env: {
          TIBA_URL: service.url,
          TIBA_CLIENT_ID: service.alpha.clientId,
          TIBA_CLIENT_SECRET: service.alpha.clientSecret,
        },
      });
      assert.deepEqual(stdout.trim().split('\n'), [
        'ACTIVE KARTIKA PRASETYO',
        'SUCCESS 150000.00 null',
        '9007199254740993.02',
        'unknown here true',
        'row 1 ACTIVE',
        'Bank Central Asia 200 true',
        '1 disbursement.succeeded',
        'enough for an example',
        'evt_TB2026112100000001_2 disbursement.succeeded',
        '204',
      ]);
    } finally {
      await service.close();
    }
  });
});
