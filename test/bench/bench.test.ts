import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

// That the benchmark works, on whatever machine: no figure is judged here, and none means anything beside other tests.

const MAIN = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));
const RUN_TIMEOUT_MS = 180_000;
const linux = process.platform === 'linux';

const ROWS = [
  'bare node:http, the same answer',
  'check-status, 10 thousand rows',
  'check-status, 100 thousand rows',
  'check-status, 10 thousand rows, without batching',
  'check-account, a bank that answers at once',
  'check-account, the simulated bank',
];

const RATIOS = [
  { title: 'check-status / bare server: CPU per request', budget: 'at most 2.00' },
  { title: 'check-status, 100 thousand rows / 10 thousand rows: CPU per request', budget: 'at most 1.10' },
  { title: 'check-account, a bank that answers at once: per second', budget: 'at least 5,000' },
  { title: 'check-status, without / with batching: CPU per request', budget: null },
  { title: 'check-status, without / with batching: throughput', budget: null },
  { title: 'check-status / bare server: throughput', budget: null },
];

describe('the benchmark', {
  concurrency: true,
  timeout: RUN_TIMEOUT_MS,
  skip: !linux && 'it runs on Linux only',
}, () => {
  let directory = '';
  const runs: Run[] = [];

  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-bench-test-'));
  });

  after(async () => {
    for (const run of runs) run.child.kill('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  });

  test('a quick run without wrk and taskset measures every variant, prints every ratio and leaves nothing behind', async () => {
    const run = await start('without', ['--quick', '--seconds', '1'], { PATH: path.join(directory, 'without') });
    assert.equal(await run.exited, 0, run.output.stderr);
    assert.match(run.output.stdout, /autocannon \d/);
    assert.match(run.output.stdout, /nothing is bound to a core/);
    assertComplete(run.output.stdout);
    await assertNothingLeft(run);
  });

  // Before the first round every variant has been warmed up, so this is also the run with whatever load is installed.
  test('Ctrl-C while load is on stops everything and leaves nothing behind', async () => {
    const run = await start('interrupted', ['--quick', '--seconds', '60']);
    await run.said('round 1 of 1');
    run.child.kill('SIGINT');
    assert.equal(await run.exited, 130, run.output.stderr);
    assert.match(run.output.stderr, /stopped by SIGINT/);
    await assertNothingLeft(run);
  });

  test('an unknown option is refused with the usage before anything starts', async () => {
    const run = await start('refused', ['--fast']);
    assert.equal(await run.exited, 1);
    assert.match(run.output.stderr, /--fast[^]*--quick/);
    await assertNothingLeft(run);
  });

  interface Run {
    readonly child: ChildProcess;
    /** Its own, so that what it leaves there, and who was started with it, can be told. */
    readonly temporaryDirectory: string;
    readonly output: { stdout: string; stderr: string };
    readonly exited: Promise<number | null>;
    /** Waits for a line of its progress. */
    said(text: string): Promise<void>;
  }

  async function start(name: string, args: readonly string[], environment: Record<string, string> = {}): Promise<Run> {
    const temporaryDirectory = path.join(directory, name);
    await mkdir(temporaryDirectory);
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { ...process.env, TMPDIR: temporaryDirectory, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
    const exited = once(child, 'close').then(([code]) => code as number | null);
    const run: Run = {
      child,
      temporaryDirectory,
      output,
      exited,
      async said(text) {
        while (!output.stderr.includes(text)) {
          const ended = await Promise.race([once(child.stderr, 'data').then(() => false), exited.then(() => true)]);
          assert.ok(!ended, `it ended before it said "${text}":\n${output.stderr}`);
        }
      },
    };
    runs.push(run);
    return run;
  }
});

function assertComplete(report: string): void {
  const lines = report.split('\n').map((line) => line.trim().split(/ {3,}/));
  for (const row of ROWS) {
    const figures = lines.find(([title, ...cells]) => title === row && cells.length === 5)?.slice(1) ?? [];
    assert.equal(figures.length, 5, `no row "${row}" in:\n${report}`);
    for (const figure of figures) assert.match(figure, /^[\d,]+(?:\.\d+)?$/, row);
  }
  for (const { title, budget } of RATIOS) {
    const [, measured = '', ...judged] = lines.find(([first]) => first === title) ?? [];
    assert.match(measured, /^[\d,]+(?:\.\d+)?$/, `no ratio "${title}" in:\n${report}`);
    if (budget === null) assert.deepEqual(judged, []);
    else assert.ok(judged[0] === budget && /^[✓✗]$/.test(judged[1] ?? ''), `${title}: ${judged.join(' ')}`);
  }
}

async function assertNothingLeft({ temporaryDirectory }: { readonly temporaryDirectory: string }): Promise<void> {
  assert.deepEqual(await readdir(temporaryDirectory), []);
  assert.deepEqual(await processesOf(temporaryDirectory), []);
}

/** Processes that name the directory in their arguments or their environment. */
async function processesOf(directory: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const texts = await Promise.all(
      // Gone meanwhile, or somebody else's: not one of ours.
      ['cmdline', 'environ'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
    );
    if (texts.some((text) => text.includes(directory))) found.push(`${pid}: ${texts[0]?.replaceAll('\0', ' ')}`);
  }
  return found;
}
