import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startTestService, type TestService } from '../support/service.ts';
import { INHERITED } from '../support/suite-environment.ts';
import { type Cli, createCli, loginOf } from './cli-process.ts';

/** The package as npm packs it, in an empty folder. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PACKAGE = path.join(ROOT, 'packages/cli/');
const NPM = path.join(ROOT, 'node_modules/.bin/');
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

const ROUNDS = 3;
/** It starts Node, loads fetch, logs in and asks: about four times as much as Node alone. */
const TIMES_NODE_MAX = 8;

/** Reports the processor time of the process at its end: what other programs of the machine do not change. */
const REPORT_CPU = `import { writeSync } from 'node:fs';
process.on('exit', () => writeSync(3, String(process.cpuUsage().user + process.cpuUsage().system)));`;

interface Run {
  readonly firstOutputMs: number;
  readonly cpuMs: number;
}

async function runNode(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Run> {
  const startedMs = performance.now();
  const hook = ['--import', `data:text/javascript,${encodeURIComponent(REPORT_CPU)}`];
  const child = spawn(process.execPath, [...hook, ...args], { env, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  const report = child.stdio[3] as Readable;
  const cpu = report.toArray();
  await Promise.race([once(child.stdout as Readable, 'data'), once(child.stderr as Readable, 'data')]);
  const firstOutputMs = performance.now() - startedMs;
  await closed;
  return { firstOutputMs, cpuMs: Number(Buffer.concat((await cpu) as Buffer[]).toString()) / 1_000 };
}

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

  test('answers, and costs little more processor time than Node alone', async (context) => {
    assert.equal((await cli.run(['check', 'BCA', '1234567890'])).code, 0);
    const [bare, status] = [[] as Run[], [] as Run[]];
    for (let round = 0; round < ROUNDS; round += 1) {
      bare.push(await runNode(['-e', 'console.log(0)'], {}));
      status.push(await runNode([program, 'status', 'NONE'], cli.environment));
    }
    const [nodeMs, statusMs] = [bare, status].map((runs) => Math.min(...runs.map(({ cpuMs }) => cpuMs)));
    const firstOutputMs = Math.min(...status.map((each) => each.firstOutputMs));
    context.diagnostic(`first output after ${firstOutputMs.toFixed()} ms`);
    context.diagnostic(`processor time ${statusMs?.toFixed()} ms, of Node alone ${nodeMs?.toFixed()} ms`);
    assert.ok(nodeMs !== undefined && nodeMs > 0 && statusMs !== undefined);
    assert.ok(statusMs < nodeMs * TIMES_NODE_MAX, `${statusMs} ms, and Node alone ${nodeMs} ms`);
  });

  test('a command loads its own files and none of another command', async () => {
    const coverage = path.join(folder, 'coverage');
    const env = { ...cli.environment, NODE_V8_COVERAGE: coverage };
    await once(spawn(process.execPath, [program, 'status', 'NONE'], { env, stdio: 'ignore' }), 'close');
    const [report = ''] = await readdir(coverage);
    const { result } = JSON.parse(await readFile(path.join(coverage, report), 'utf8')) as { result: { url: string }[] };
    const loaded = result.flatMap(({ url }) => /\/chunks\/([a-z-]+)-\w+\.js$/.exec(url)?.[1] ?? []);
    assert.ok(loaded.includes('status'), loaded.join());
    const { stdout } = await cli.run(['--help']);
    const others = [...stdout.matchAll(/^ {2}([a-z-]+) /gm)]
      .map(([, name = '']) => name)
      .filter((each) => each !== 'status');
    assert.ok(others.length > 10, others.join());
    assert.deepEqual(
      loaded.filter((name) => others.includes(name)),
      [],
    );
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

test('in a clone, npx tiba runs the sources, once npm ci has linked them', async () => {
  const clone = path.join(folder, 'clone');
  const { scripts } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as {
    scripts: { prepare: string };
  };
  await mkdir(path.join(clone, 'node_modules/.bin'), { recursive: true });
  await cp(path.join(ROOT, 'package.json'), path.join(clone, 'package.json'));
  await symlink(path.join(ROOT, 'packages'), path.join(clone, 'packages'));
  await symlink(process.execPath, path.join(clone, 'node_modules/.bin/node'));
  await run('sh', ['-c', scripts.prepare.split(' && ').at(-1) ?? ''], { cwd: clone });
  // Where it is not found, npx would ask the registry.
  const env = { ...INHERITED, HOME: folder, npm_config_offline: 'true', npm_config_cache: path.join(folder, 'npm') };
  const { stdout } = await run('npx', ['tiba', '--help'], { cwd: clone, env });
  assert.match(stdout, /^Usage: tiba /);
});
