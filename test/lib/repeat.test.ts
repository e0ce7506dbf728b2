import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repeat } from '../../apps/server/src/lib/repeat.ts';

/** Never reached in a test. */
const HOUR_MS = 60 * 60_000;

test('runs that are asked for do not overlap: of many during one run, one follows', async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const action = (): Promise<void> => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  };
  const ends: string[] = [];
  const repetition = repeat(HOUR_MS, action, {
    failed: (error) => void ends.push(String(error)),
    succeeded: () => void ends.push('succeeded'),
  });
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  assert.equal(runs.length, 0, 'the first run follows after the interval');
  repetition.now();
  assert.equal(runs.length, 1);
  for (let time = 0; time < 5; time += 1) repetition.now();
  assert.equal(runs.length, 1);
  runs[0]?.reject(new Error('the first run failed'));
  await settled();
  assert.equal(runs.length, 2);
  assert.deepEqual(ends, ['Error: the first run failed']);
  runs[1]?.resolve();
  await settled();
  assert.equal(runs.length, 2);
  assert.deepEqual(ends, ['Error: the first run failed', 'succeeded']);

  repetition.now();
  repetition.now();
  const stopped = repetition.stop();
  runs[2]?.resolve();
  await stopped;
  repetition.now();
  await settled();
  assert.equal(runs.length, 3, 'none follows when it was stopped');
});
