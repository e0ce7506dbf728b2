import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startTestService, type TestService } from '../support/service.ts';
import { type Cli, createCli, loginOf } from './cli-process.ts';

/** The package as npm packs it, in an empty folder. */

const PACKAGE = fileURLToPath(new URL('../../packages/cli/', import.meta.url));
const NPM = fileURLToPath(new URL('../../node_modules/.bin/', import.meta.url));
const run = promisify(execFile);

let folder: string;
let program: string;
let service: TestService;
let cli: Cli;
before(async () => {
  service = await startTestService();
  folder = await mkdtemp(path.join(tmpdir(), 'tiba-cli-package-'));
  const PATH = `${NPM}${path.delimiter}${process.env['PATH'] ?? ''}`;
  await run('npm', ['pack', '--pack-destination', folder], { cwd: PACKAGE, env: { ...process.env, PATH } });
  await run('tar', ['-xzf', path.join(folder, 'tiba-0.1.0.tgz'), '-C', folder]);
  program = path.join(folder, 'package/dist/main.js');
  cli = await createCli(loginOf(service), [process.execPath, program]);
});
after(async () => {
  await cli?.remove();
  await service?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

suite('the packed command line', () => {
  test('has no dependencies, the licenses of what is bundled, and no path of this machine', async () => {
    const manifest = JSON.parse(await readFile(path.join(folder, 'package/package.json'), 'utf8')) as object;
    assert.ok(!('dependencies' in manifest));
    const files = await readdir(path.join(folder, 'package'), { recursive: true, withFileTypes: true });
    for (const file of files.filter((each) => each.isFile())) {
      const text = await readFile(path.join(file.parentPath, file.name), 'utf8');
      assert.ok(!text.includes(path.dirname(path.dirname(PACKAGE))), file.name);
    }
    assert.match(await readFile(path.join(folder, 'package/dist/LICENSES.txt'), 'utf8'), /^commander [\d.]+ \(MIT\)/m);
  });

  test('answers, and its first output comes at once', async (context) => {
    assert.equal((await cli.run(['check', 'BCA', '1234567890'])).code, 0);
    const startedMs = performance.now();
    const { stdout } = await cli.run(['--version']);
    const tookMs = performance.now() - startedMs;
    assert.equal(stdout, '0.1.0\n');
    context.diagnostic(`first output after ${Math.round(tookMs)} ms`);
    assert.ok(tookMs < 2_000, `${tookMs} ms`);
  });

  test('completes in bash', async () => {
    const bin = path.join(folder, 'bin');
    await mkdir(bin);
    await symlink(program, path.join(bin, 'tiba'));
    const script = `source <(tiba completion bash)
# Two functions of bash-completion and of its caller, as they are at \`tiba sta\` and Tab.
_get_comp_words_by_ref() { cur=sta prev=tiba words=(tiba sta) cword=1; }
compopt() { :; }
COMP_LINE='tiba sta' COMP_POINT=8 COMP_WORDS=(tiba sta) COMP_CWORD=1
__tiba_complete
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const PATH = [bin, path.dirname(process.execPath), process.env['PATH']].join(path.delimiter);
    const { stdout } = await run('bash', ['-c', script], { env: { PATH, HOME: folder } });
    assert.match(stdout, /^status\b/);
  });
});
