import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeCosts } from './costs.ts';
import { startTestServer } from './support/database.ts';
import { childrenMs } from './support/processor-time.ts';
import { generateRsaKeys } from './support/rsa-keys.ts';
import { COSTS_VARIABLE, RSA_KEYS_VARIABLE, TEST_SERVER_VARIABLE } from './support/suite-environment.ts';

/** `npm run check`, as CI runs it: types, lint, format, dead code, then the tests. Stops at the first failure. */

/**
 * Far more than the tests need on any machine: a test that hangs is reported and ended instead of blocking the run. A
 * file that cannot end is ended sooner (file-deadline.ts).
 */
const ONE_TEST_MS_MAX = 5 * 60_000;
const TESTS_MS_MAX = 25 * 60_000;

/**
 * A file computes for less than half of its time: it waits for a timeout, for PostgreSQL or for another process. The
 * bound is that of the connections to the one PostgreSQL, of which a service takes up to 16.
 */
const FILES_AT_ONCE = Math.min(2 * availableParallelism(), 8);

const root = fileURLToPath(new URL('..', import.meta.url));

const STATIC_CHECKS: readonly (readonly [name: string, command: string, args: readonly string[]])[] = [
  ['types', 'tsc', ['--noEmit']],
  ['types of the console', 'tsc', ['--project', 'apps/console']],
  ['lint', 'oxlint', ['--type-aware', '--deny-warnings']],
  ['format', 'biome', ['ci', '--colors=off', '.']],
  ['dead code', 'knip', []],
];

for (const [name, command, args] of STATIC_CHECKS) await step(name, command, args);

// Each test file is a process, and many start the service in child processes: they share one compile cache.
const compiled = await mkdtemp(path.join(tmpdir(), 'tiba-compiled-'));
const costs = await mkdtemp(path.join(tmpdir(), 'tiba-costs-'));
const server = await startTestServer();
try {
  const files = (await Array.fromAsync(glob('test/**/*.test.ts', { cwd: root }))).sort();
  await step(
    'tests',
    process.execPath,
    [
      '--test',
      `--import=${new URL('support/file-deadline.ts', import.meta.url).href}`,
      `--import=${new URL('support/file-costs.ts', import.meta.url).href}`,
      `--test-concurrency=${FILES_AT_ONCE}`,
      `--test-timeout=${ONE_TEST_MS_MAX}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      '--test-reporter=./test/slowest-files.ts',
      '--test-reporter-destination=stdout',
      ...files,
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
  await Promise.all([compiled, costs].map((directory) => rm(directory, { recursive: true })));
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
