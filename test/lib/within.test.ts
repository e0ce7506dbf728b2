import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from '../../apps/server/src/lib/within.ts';

/** Never reached. A timer that is left behind delays the end of this file for as long. */
const LONG_MS = 30_000;

/** How many timers keep the process alive. */
const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;

const never = new Promise<string>(() => {});

test('a promise that is settled in time decides', async () => {
  assert.equal(await within(Promise.resolve('value'), LONG_MS, 'late'), 'value');
  // Also with no time at all.
  assert.equal(await within(Promise.resolve('value'), 0, 'late'), 'value');
  await assert.rejects(within(Promise.reject(new Error('of the promise')), LONG_MS, 'late'), /of the promise/);
});

test('after the time, the value for it is the result', async () => {
  assert.equal(await within(never, 1, false), false);
  assert.equal(await within(never, 0, undefined), undefined);
});

test('a promise that is rejected after the time is ignored', async () => {
  const late = Promise.withResolvers<string>();
  assert.equal(await within(late.promise, 1, null), null);
  // Otherwise this is an unhandled rejection, which fails the test.
  late.reject(new Error('too late'));
  await new Promise((resolve) => setImmediate(resolve));
});

for (const end of ['resolve', 'reject'] as const) {
  test(`the timer keeps the process alive until the promise is settled, and no longer: ${end}`, async () => {
    const before = timers();
    const waited = Promise.withResolvers<void>();
    const waiting = within(waited.promise, LONG_MS, 'late').catch(() => {});
    assert.equal(timers(), before + 1);
    waited[end]();
    await waiting;
    assert.equal(timers(), before);
  });
}
