import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('docs/adding-a-rail.md: a copy of the template and one line make a rail that passes its tests', async (context) => {
  const checkout = await mkdtemp(path.join(tmpdir(), 'tiba-adding-a-rail-'));
  context.after(() => rm(checkout, { recursive: true, force: true }));
  for (const part of ['apps', 'test', 'package.json', 'openapi.json', 'openapi-operator.json']) {
    await cp(path.join(root, part), path.join(checkout, part), { recursive: true });
  }
  await symlink(path.join(root, 'node_modules'), path.join(checkout, 'node_modules'));
  async function edit(file: string, change: (text: string) => string): Promise<void> {
    const text = await readFile(path.join(checkout, file), 'utf8');
    assert.notEqual(change(text), text, `the edit of ${file} changes nothing`);
    await writeFile(path.join(checkout, file), change(text));
  }

  const page = await readFile(path.join(root, 'docs/adding-a-rail.md'), 'utf8');
  const [copy = '', run = ''] = [...page.matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) => block);
  assert.match(run, /^npx node --test test\/rails\/\$name\/\*\.test\.ts$/m);
  // Two tests are enough here, because the template's own suite runs all of them.
  const some = run.replace(
    'npx node --test',
    `"${process.execPath}" --test --test-name-pattern='active account|over HTTP'`,
  );

  await edit('apps/server/src/rails/protocols.ts', (text) =>
    `import { TELEX } from './telex/protocol.ts';\n${text}`.replace('];\n', ', TELEX];\n'),
  );
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const paste = (commands: string) =>
    promisify(execFile)('bash', ['-euc', `name=telex\n${commands}`], { cwd: checkout, env: environment });
  await paste(copy);
  // The line in protocols.ts alone makes the protocol known.
  await edit('test/rails/telex/service.test.ts', (text) => text.replace(', { protocols: [...PROTOCOLS, TELEX] }', ''));
  const { stdout } = await paste(some);
  assert.match(stdout, /pass 2$/m, stdout);
});
