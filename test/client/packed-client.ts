// @tiba/client as npm packs it, in an empty project, with the examples of its README.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestService } from '../support/service.ts';

const PACKAGE = fileURLToPath(new URL('../../packages/client/', import.meta.url));
/** The repository's own commands, such as tsc. */
export const COMMANDS = fileURLToPath(new URL('../../node_modules/.bin/', import.meta.url));
const run = promisify(execFile);

/** Installs the package in the folder, which becomes a project, and writes the README's examples to `readme.js`. */
export async function installPackedClient(project: string): Promise<void> {
  const installed = path.join(project, 'node_modules/@tiba/client');
  await mkdir(installed, { recursive: true });
  const PATH = `${COMMANDS}${path.delimiter}${process.env['PATH'] ?? ''}`;
  await run('npm', ['pack', '--pack-destination', project], { cwd: PACKAGE, env: { ...process.env, PATH } });
  await run('tar', ['-xzf', path.join(project, 'tiba-client-0.1.0.tgz'), '-C', installed, '--strip-components=1']);
  await writeFile(path.join(project, 'package.json'), '{ "type": "module" }');
  const readme = await readFile(path.join(installed, 'README.md'), 'utf8');
  const examples = [...readme.matchAll(/```js\n([^]*?)```/g)].map(([, code = '']) => code);
  assert.equal(examples.length, 7);
  await writeFile(path.join(project, 'readme.js'), examples.join('\n'));
}

/** What the examples need of their environment. */
export const readmeEnvironment = ({ url, alpha }: TestService): Record<string, string> => ({
  TIBA_URL: url,
  TIBA_CLIENT_ID: alpha.clientId,
  TIBA_CLIENT_SECRET: alpha.clientSecret,
});

/** What the examples print, after alpha's transaction INV/2026/001 has become SUCCESS. */
export const README_OUTPUT = [
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
];
