import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertNothingLeft, type Bench, LINUX_ONLY, openBench, RUN_TIMEOUT_MS, WITHOUT_PROGRAMS } from './run.ts';

// That the benchmark works, on whatever machine: no figure is judged here, and none means anything beside other tests.

const ROWS = [
  'bare node:http, the same answer',
  'check-status, 10 thousand rows',
  'check-status, 20 thousand rows',
  'check-status, 10 thousand rows, without batching',
  'check-account, a bank that answers at once',
  'check-account, the simulated bank',
];

const RATIOS = [
  { title: 'check-status / bare server: CPU per request', budget: 'at most 2.00' },
  { title: 'check-status, 20 thousand rows / 10 thousand rows: CPU per request', budget: 'at most 1.10' },
  { title: 'check-account, a bank that answers at once: per second', budget: 'at least 5,000' },
  { title: 'check-account / bare server: CPU per request', budget: 'at most 23.00' },
  { title: 'check-status, without / with batching: CPU per request', budget: null },
  { title: 'check-status, without / with batching: throughput', budget: null },
  { title: 'check-status / bare server: throughput', budget: null },
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

  test('a quick run without wrk and taskset measures every variant, prints every ratio and leaves nothing behind', async () => {
    const run = await bench.start('without', ['--quick', '--seconds', '1'], WITHOUT_PROGRAMS);
    assert.equal(await run.exited, 0, run.output.stderr);
    assert.match(run.output.stdout, /autocannon \d/);
    assert.match(run.output.stdout, /nothing is bound to a core/);
    assertComplete(run.output.stdout);
    await assertNothingLeft(run);
  });

  // With whatever load is installed.
  test('Ctrl-C while load is on stops everything and leaves nothing behind', async () => {
    const run = await bench.start('interrupted', ['--quick', '--seconds', '60']);
    await run.said('warming up');
    run.child.kill('SIGINT');
    assert.equal(await run.exited, 130, run.output.stderr);
    assert.match(run.output.stderr, /stopped by SIGINT/);
    await assertNothingLeft(run);
  });

  test('an unknown option is refused with the usage before anything starts', async () => {
    const run = await bench.start('refused', ['--fast']);
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
    const [, measured = '', ...judged] = lines.find(([first]) => first === title) ?? [];
    assert.match(measured, /^[\d,]+(?:\.\d+)?$/, `no ratio "${title}" in:\n${report}`);
    if (budget === null) assert.deepEqual(judged, []);
    else assert.ok(judged[0] === budget && /^[✓✗]$/.test(judged[1] ?? ''), `${title}: ${judged.join(' ')}`);
  }
}
