import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertNothingLeft, type Bench, LINUX_ONLY, openBench, RUN_TIMEOUT_MS, WITHOUT_PROGRAMS } from './run.ts';

// Tests that the benchmark works on any machine. They check no figure: beside other tests, figures mean nothing.

const ROWS = [
  'baseline: node:http, same response',
  'check-status, 1,000 transactions',
  'check-status by reference ID',
  'check-status, 2,000 transactions',
  'check-status, 1,000 transactions, no batching',
  'check-status, batch of 100',
  'check-account, instant bank',
  'check-account, simulated bank',
];

const RATIOS = [
  { title: 'check-status / baseline: CPU per request', budget: 'at most 1.60' },
  { title: 'check-status, 2,000 transactions / 1,000 transactions: CPU per request', budget: 'at most 1.10' },
  { title: 'check-status by reference ID / by transaction ID: CPU per request', budget: 'at most 1.20' },
  { title: 'check-status, batch of 100 / one: CPU per request', budget: 'at most 25.00' },
  { title: 'check-account, instant bank: per second', budget: 'at least 5,000' },
  { title: 'check-account / baseline: CPU per request', budget: 'at most 23.00' },
  { title: 'check-status, no batching / batching: CPU per request', budget: null },
  { title: 'check-status, no batching / batching: per second', budget: null },
  { title: 'check-status / baseline: per second', budget: null },
];

describe('the benchmark', {
  concurrency: true,
  timeout: RUN_TIMEOUT_MS,
  skip: LINUX_ONLY,
}, () => {
  let bench: Bench;
  before(async () => {
    bench = await openBench();
  });
  after(() => bench?.close());

  test('a quick run without wrk and taskset prints every row and ratio, and leaves nothing behind', async () => {
    const run = await bench.start('without', ['--quick'], WITHOUT_PROGRAMS);
    assert.equal(await run.exited, 0, run.output.stderr);
    assert.match(run.output.stdout, /autocannon \d/);
    assert.match(run.output.stdout, /no process is pinned to a core/);
    assertComplete(run.output.stdout);
    await assertNothingLeft(run);
  });

  // With the load that is installed, and the comparison that starts the fewest servers.
  test('Ctrl-C under load stops everything and leaves nothing behind', async () => {
    const run = await bench.start('interrupted', ['--traces', '--quick', '--seconds', '60']);
    await run.printed('round 1 of 1');
    run.child.kill('SIGINT');
    assert.equal(await run.exited, 130, run.output.stderr);
    assert.match(run.output.stderr, /stopped by SIGINT/);
    await assertNothingLeft(run);
  });

  test('an unknown option prints the usage before anything starts', async () => {
    const run = await bench.start('unknown-option', ['--fast']);
    assert.equal(await run.exited, 1);
    assert.match(run.output.stderr, /--fast[^]*--quick/);
    await assertNothingLeft(run);
  });
});

function assertComplete(report: string): void {
  const lines = report.split('\n').map((line) => line.trim().split(/ {3,}/));
  for (const row of ROWS) {
    const figures = lines.find(([title, ...cells]) => title === row && cells.length === 5)?.slice(1) ?? [];
    assert.equal(figures.length, 5, `no row "${row}" in:\n${report}`);
    for (const figure of figures) assert.match(figure, /^[\d,]+(?:\.\d+)?$/, row);
  }
  for (const { title, budget } of RATIOS) {
    const [, measured = '', ...verdict] = lines.find(([first]) => first === title) ?? [];
    assert.match(measured, /^[\d,]+(?:\.\d+)?$/, `no ratio "${title}" in:\n${report}`);
    if (budget === null) assert.deepEqual(verdict, []);
    else assert.ok(verdict[0] === budget && /^[✓✗]$/.test(verdict[1] ?? ''), `${title}: ${verdict.join(' ')}`);
  }
}
