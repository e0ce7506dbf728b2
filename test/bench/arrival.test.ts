import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertNothingLeft, type Bench, LINUX_ONLY, openBench, RUN_TIMEOUT_MS } from './run.ts';

// That it works, on whatever machine: no figure is judged here, and none means anything beside other tests.

/** With how many figures each has, of the four there are. */
const ROWS = [
  { title: 'bare LISTEN, 50 changes a second', figures: 3 },
  { title: 'bare LISTEN and POST, 50 changes a second', figures: 4 },
  { title: 'callbacks, 50 changes a second', figures: 4 },
  { title: 'callbacks, 50 changes a second, another endpoint hangs', figures: 4 },
  { title: 'callbacks, 50 changes a second, flushed to disk', figures: 4 },
  { title: 'bare POST, 32 at once', figures: 2 },
  { title: 'callbacks, 1,000 due', figures: 2 },
  { title: 'callbacks, 1,000 due, another endpoint hangs', figures: 2 },
  { title: 'Prefer: wait, 200 wait, 50 changes a second', figures: 4 },
];

const RATIOS = [
  { title: 'callbacks: ms from the commit to the receiver, p99', budget: 'at most 50.00' },
  { title: 'callbacks: changes a second that were taken in', budget: 'at least 47.00' },
  { title: 'callbacks, many due: per second', budget: 'at least 1,000' },
  { title: 'callbacks, another endpoint hangs / alone: p50', budget: 'at most 1.10' },
  { title: 'callbacks, another endpoint hangs / alone: p99', budget: 'at most 1.10' },
  { title: 'callbacks, many due, another endpoint hangs / alone: per second', budget: 'at least 0.90' },
  { title: 'Prefer: wait: ms from the commit to the first byte, p99', budget: 'at most 20.00' },
  { title: '200 wait and nothing changes: CPU, % of a core', budget: 'at most 5.00' },
  { title: 'nobody waits and nothing changes: CPU, % of a core', budget: null },
  { title: 'Prefer: wait: KiB of memory for each who waits', budget: null },
  { title: 'callbacks / bare LISTEN and POST: p50', budget: null },
  { title: 'callbacks / bare LISTEN and POST: p99', budget: null },
  { title: 'callbacks, many due / bare POST: per second', budget: null },
  { title: 'Prefer: wait / bare LISTEN: p50', budget: null },
];

const FIGURE = /^-?[\d,]+(?:\.\d+)?$/;

describe('the benchmark of how a change arrives', {
  concurrency: true,
  timeout: RUN_TIMEOUT_MS,
  skip: LINUX_ONLY,
}, () => {
  let bench: Bench;
  before(async () => {
    bench = await openBench();
  });
  after(() => bench?.close());

  test('a quick run prints every row and every budget and leaves nothing behind', async () => {
    const run = await bench.start('quick', ['--arrival', '--quick', '--seconds', '1']);
    assert.equal(await run.exited, 0, run.output.stderr);
    assertComplete(run.output.stdout);
    await assertNothingLeft(run);
  });

  test('Ctrl-C while changes are coming stops everything and leaves nothing behind', async () => {
    const run = await bench.start('interrupted', ['--arrival', '--quick', '--seconds', '60']);
    await run.said('warming up');
    run.child.kill('SIGINT');
    assert.equal(await run.exited, 130, run.output.stderr);
    assert.match(run.output.stderr, /stopped by SIGINT/);
    await assertNothingLeft(run);
  });
});

function assertComplete(report: string): void {
  const lines = report.split('\n').map((line) => line.trim().split(/ {3,}/));
  for (const { title, figures } of ROWS) {
    const cells = lines.find(([first, ...rest]) => first === title && rest.length === 4)?.slice(1) ?? [];
    assert.equal(cells.filter((cell) => FIGURE.test(cell)).length, figures, `row "${title}" in:\n${report}`);
  }
  for (const { title, budget } of RATIOS) {
    const [, measured = '', ...judged] = lines.find(([first]) => first === title) ?? [];
    assert.match(measured, FIGURE, `"${title}" in:\n${report}`);
    if (budget === null) assert.deepEqual(judged, []);
    else assert.ok(judged[0] === budget && /^[✓✗]$/.test(judged[1] ?? ''), `${title}: ${judged.join(' ')}`);
  }
}
