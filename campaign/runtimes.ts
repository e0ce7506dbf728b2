import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { installPackedClient, README_OUTPUT, readmeEnvironment } from '../test/client/packed-client.ts';
import { startTestService, statusUpdate, type TestService } from '../test/support/service.ts';
import { installPackages } from './npm-project.ts';
import type { Part } from './part.ts';

const run = promisify(execFile);
const ENDED_WITHIN_MS = 60_000;

interface Runtime {
  readonly name: string;
  readonly packages: readonly string[];
  /** What runs a program, under the folder of the installed packages. */
  readonly command: readonly [program: string, ...args: string[]];
}

const ARM = process.arch === 'arm64';
const NODE = `node-linux-${process.arch}`;
const BUN = `@oven/bun-linux-${ARM ? 'aarch64' : 'x64'}`;
const DENO = `@deno/linux-${ARM ? 'arm64' : 'x64'}-glibc`;

const RUNTIMES: readonly Runtime[] = [
  ...['22.23.3', '24.21.0', '26.10.0'].map((version) => ({
    name: `Node ${version}`,
    packages: [`${NODE}@${version}`],
    command: [`${NODE}/bin/node`] as const,
  })),
  { name: 'Bun 1.4.5', packages: [`${BUN}@1.4.5`], command: [`${BUN}/bin/bun`] },
  {
    name: 'Deno 2.9.6',
    packages: [`${DENO}@2.9.6`],
    command: [`${DENO}/deno`, 'run', '--allow-net', '--allow-env'],
  },
];

const EDGE_RUNTIME = '@edge-runtime/vm@5.0.0';

/** What judges a package: what its manifest promises, and its types as each way of importing finds them. */
const JUDGES = [
  { name: 'publint@0.3.25', command: ['publint', '--strict', '--pack', 'false', 'node_modules/@tiba/client'] },
  { name: '@arethetypeswrong/cli@0.18.5', command: ['attw', '--profile', 'esm-only', 'tiba-client-0.1.0.tgz'] },
] as const;

/**
 * The packed client package in an empty project, under each runtime that npm brings: the examples of its README must
 * print what they print in the test suite. In an edge runtime, which has no modules and nothing of Node, a bundle must
 * check, wait and verify. publint and attw must find nothing. `--seconds` does not apply.
 */
export const runtimes: Part = async ({ seed, signal, print }) => {
  await using closers = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), 'tiba-runtimes-'));
  closers.defer(() => rm(folder, { recursive: true, force: true }));
  const project = path.join(folder, 'project');
  await installPackedClient(project);
  const figures: Record<string, string> = {};
  const problems: string[] = [];
  async function attempt(name: string, packages: readonly string[], tryIt: TryRuntime): Promise<void> {
    if (signal.aborted) return;
    const modules = await installPackages(path.join(folder, name.replaceAll(' ', '-')), packages, signal);
    // A service for each: the examples expect its first event.
    const service = await startTestService();
    try {
      await service.feed(statusUpdate({ status: 'SUCCESS', processed_at: '2026-11-21T04:32:31.402Z' }));
      const problem = await tryIt(modules, service).catch((error: unknown) => String(error));
      figures[name] = problem === null ? 'works' : 'fails';
      if (problem !== null) problems.push(`${name}: ${problem}`);
      print(`${name}: ${figures[name]}`);
    } finally {
      await service.close();
    }
  }

  for (const { name, packages, command } of RUNTIMES) {
    await attempt(name, packages, (modules, service) => runReadme(project, modules, command, service));
  }
  await attempt(EDGE_RUNTIME, [EDGE_RUNTIME], (modules, service) => runInEdge(project, modules, service));
  for (const { name, command } of JUDGES) {
    if (signal.aborted) break;
    const [program, ...args] = command;
    const modules = await installPackages(path.join(folder, program), [name], signal);
    const complaint = await complaintOf(path.join(modules, '.bin', program), args, project);
    figures[name] = complaint === null ? 'finds nothing' : 'complains';
    if (complaint !== null) problems.push(`${name}: ${complaint}`);
    print(`${name}: ${figures[name]}`);
  }
  return { findings: problems.map((what) => ({ what, seed })), figures };
};

/** What a judge prints when it ends with an error; null when it finds nothing. */
async function complaintOf(program: string, args: readonly string[], cwd: string): Promise<string | null> {
  try {
    await run(program, args, { cwd, timeout: ENDED_WITHIN_MS });
    return null;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return `${stdout}${stderr}` || String(error);
  }
}

/** Resolves with what is wrong, or with null. */
type TryRuntime = (modules: string, service: TestService) => Promise<string | null>;

async function runReadme(
  project: string,
  modules: string,
  [program, ...args]: Runtime['command'],
  service: TestService,
): Promise<string | null> {
  const env = { ...readmeEnvironment(service), HOME: project };
  const { stdout } = await run(path.join(modules, program), [...args, 'readme.js'], {
    cwd: project,
    env,
    timeout: ENDED_WITHIN_MS,
  });
  const printed = stdout.trim();
  return printed === README_OUTPUT.join('\n') ? null : `it printed ${printed}`;
}

const EDGE_OUTPUT = 'SUCCESS 150000.00 TRANSACTION_NOT_FOUND disbursement.succeeded';

async function runInEdge(project: string, modules: string, { url, alpha }: TestService): Promise<string | null> {
  const options = JSON.stringify({ baseUrl: url, clientId: alpha.clientId, clientSecret: alpha.clientSecret });
  const { outputFiles } = await build({
    stdin: {
      contents: `import { createTibaClient } from '@tiba/client';
import { verifyCallback } from '@tiba/client/callbacks';
import { disbursementCallback, signCallback, TEST_SECRET } from '@tiba/client/testing';
async function tryIt() {
  const tiba = createTibaClient(${options});
  const { status, amount } = await tiba.waitForFinal('INV/2026/001');
  const code = await tiba.checkStatus('NONE').catch((error) => error.error_code);
  const { headers, body } = await signCallback(disbursementCallback());
  const { callback } = await verifyCallback(headers, body, TEST_SECRET);
  return [status, amount, code, callback.type].join(' ');
}
globalThis.outcome = tryIt();`,
      resolveDir: project,
    },
    bundle: true,
    format: 'iife',
    platform: 'browser',
    write: false,
  });
  const program = `import { EdgeVM } from ${JSON.stringify(path.join(modules, '@edge-runtime/vm/dist/index.js'))};
const vm = new EdgeVM();
vm.evaluate(${JSON.stringify(outputFiles[0]?.text)});
console.log(await vm.evaluate('globalThis.outcome'));`;
  await writeFile(path.join(project, 'edge.js'), program);
  const { stdout } = await run(process.execPath, ['edge.js'], { cwd: project, timeout: ENDED_WITHIN_MS });
  return stdout.trim() === EDGE_OUTPUT ? null : `it printed ${stdout.trim()}`;
}
