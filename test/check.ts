import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeCosts } from './costs.ts';
import { startTestServer } from './support/database.ts';
import { fastDirectory } from './support/fast-directory.ts';
import { childrenMs } from './support/processor-time.ts';
import { generateRsaKeys } from './support/rsa-keys.ts';
import { COSTS_VARIABLE, RSA_KEYS_VARIABLE, TEST_SERVER_VARIABLE } from './support/suite-environment.ts';
import { planProcesses } from './test-processes.ts';

/** `npm run check`, as CI runs it: types, lint, format, dead code, then the tests. Stops at the first failure. */

/**
 * Far more than the tests need on any machine: a test that hangs is reported and ended instead of blocking the run. A
 * process that cannot end is ended sooner (support/run-files.ts).
 */
const ONE_TEST_MS_MAX = 5 * 60_000;
const TESTS_MS_MAX = 45 * 60_000;

/**
 * A process computes for less than half of its time: it waits for a timeout, for PostgreSQL or for another process. The
 * bound is that of the connections to the one PostgreSQL, of which a service takes up to 16.
 */
const PROCESSES_AT_ONCE = Math.min(2 * availableParallelism(), 8);

const root = fileURLToPath(new URL('..', import.meta.url));

const STATIC_CHECKS: readonly (readonly [name: string, command: string, args: readonly string[]])[] = [
  ['types', 'tsc', ['--noEmit']],
  ['types of the console', 'tsc', ['--project', 'apps/console']],
  ['lint', 'oxlint', ['--type-aware', '--deny-warnings']],
  ['format', 'biome', ['ci', '--colors=off', '.']],
  ['dead code', 'knip', []],
];

for (const [name, command, args] of STATIC_CHECKS) await step(name, command, args);

process.env['TMPDIR'] = await fastDirectory();
// All processes, and the services that they start as child processes, share one compile cache.
const compiled = await mkdtemp(path.join(tmpdir(), 'tiba-compiled-'));
const costs = await mkdtemp(path.join(tmpdir(), 'tiba-costs-'));
const processes = await mkdtemp(path.join(tmpdir(), 'tiba-processes-'));
const server = await startTestServer();
try {
  const files = (await Array.fromAsync(glob('test/**/*.test.ts', { cwd: root }))).sort();
  const modules = await writeModules(planProcesses(files));
  await step(
    'tests',
    process.execPath,
    [
      '--test',
      `--test-concurrency=${PROCESSES_AT_ONCE}`,
      `--test-timeout=${ONE_TEST_MS_MAX}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      '--test-reporter=./test/slowest-files.ts',
      '--test-reporter-destination=stdout',
      ...modules,
    ],
    {
      timeoutMs: TESTS_MS_MAX,
      environment: {
        [TEST_SERVER_VARIABLE]: server.connectionString,
        [RSA_KEYS_VARIABLE]: generateRsaKeys(),
        [COSTS_VARIABLE]: costs,
        NODE_COMPILE_CACHE: compiled,
      },
    },
  );
} finally {
  process.stdout.write(`\n${await describeCosts(costs, childrenMs(server.pid))}\n`);
  await server.stop();
  await Promise.all([compiled, costs, processes].map((directory) => rm(directory, { recursive: true })));
}

/** One module for each process. `node --test` starts them in the order of their names. */
async function writeModules(plan: readonly (readonly string[])[]): Promise<string[]> {
  const runner = new URL('support/run-files.ts', import.meta.url).href;
  const modules = plan.map((files, index) => ({
    // A process that crashes is named for its first file.
    file: path.join(processes, `${String(index).padStart(3, '0')}-${files[0]?.replaceAll('/', '-')}.mjs`),
    code: `import { runTestFiles } from ${JSON.stringify(runner)};\nrunTestFiles(${JSON.stringify(files)});\n`,
  }));
  await Promise.all(modules.map(({ file, code }) => writeFile(file, code)));
  return modules.map(({ file }) => file);
}

async function step(
  name: string,
  command: string,
  args: readonly string[],
  { timeoutMs, environment }: { timeoutMs?: number; environment?: Record<string, string> } = {},
): Promise<void> {
  if (process.exitCode !== undefined && process.exitCode !== 0) return;
  const startedMs = performance.now();
  process.stdout.write(`\n— ${name}\n`);
  // At the timeout, SIGTERM makes the test runner report the files that still run, and end them.
  const child = spawn(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...environment },
    timeout: timeoutMs,
  });
  const [code] = await once(child, 'exit');
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  process.stdout.write(`— ${name}: ${code === 0 ? 'passed' : 'FAILED'} in ${seconds} s\n`);
  if (code !== 0) process.exitCode = 1;
}
