import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Runs of the benchmark, each with a directory of its own. */
export interface Bench {
  start(name: string, args: readonly string[], environment?: Record<string, string>): Promise<Run>;
  close(): Promise<void>;
}

export interface Run {
  readonly child: ChildProcess;
  /** Used by this run only, so that files and processes that it leaves behind can be found. */
  readonly temporaryDirectory: string;
  readonly output: { stdout: string; stderr: string };
  readonly exited: Promise<number | null>;
  /** Waits until the run prints this text as progress. */
  printed(text: string): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));
export const RUN_TIMEOUT_MS = 180_000;
/** For a test's `skip`. */
export const LINUX_ONLY = process.platform !== 'linux' && 'the benchmark runs on Linux only';
/** An environment in which neither wrk nor taskset is found, nor what only CI must have. */
export const WITHOUT_PROGRAMS = { PATH: '/nowhere', CI: 'false' };

export async function openBench(): Promise<Bench> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-bench-test-'));
  const runs: Run[] = [];
  return {
    async start(name, args, environment = {}) {
      const temporaryDirectory = path.join(directory, name);
      await mkdir(temporaryDirectory);
      const run = startRun(temporaryDirectory, args, environment);
      runs.push(run);
      return run;
    },
    async close() {
      for (const run of runs) run.child.kill('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function startRun(temporaryDirectory: string, args: readonly string[], environment: Record<string, string>): Run {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, TMPDIR: temporaryDirectory, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return {
    child,
    temporaryDirectory,
    output,
    exited,
    async printed(text) {
      while (!output.stderr.includes(text)) {
        const ended = await Promise.race([once(child.stderr, 'data').then(() => false), exited.then(() => true)]);
        assert.ok(!ended, `the run ended before it printed "${text}":\n${output.stderr}`);
      }
    },
  };
}

export async function assertNothingLeft({
  temporaryDirectory,
}: {
  readonly temporaryDirectory: string;
}): Promise<void> {
  assert.deepEqual(await readdir(temporaryDirectory), []);
  assert.deepEqual(await processesOf(temporaryDirectory), []);
}

/** Processes that name the directory in their arguments or their environment. */
async function processesOf(directory: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const texts = await Promise.all(
      // Has ended meanwhile, or belongs to another user: not a process of the run.
      ['cmdline', 'environ'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
    );
    if (texts.some((text) => text.includes(directory))) found.push(`${pid}: ${texts[0]?.replaceAll('\0', ' ')}`);
  }
  return found;
}
