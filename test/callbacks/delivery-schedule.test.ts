import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ATTEMPT_DELAYS_MS, delayAfterMs, readRetryAfter } from '../../apps/server/src/callbacks/retry-schedule.ts';

const HOUR_MS = 3_600_000;

test('the schedule has ten attempts over 75 hours, 35 minutes and 5 seconds', () => {
  assert.equal(ATTEMPT_DELAYS_MS.length, 10);
  assert.equal(
    ATTEMPT_DELAYS_MS.reduce((sum, each) => sum + each),
    75 * HOUR_MS + 35 * 60_000 + 5_000,
  );
  assert.equal(delayAfterMs(10, null, 0.5), null);
  assert.equal(delayAfterMs(10, 1_000, 0.5), null);
});

test('jitter changes each delay by up to a tenth in both directions', () => {
  for (const [attempt, planned] of ATTEMPT_DELAYS_MS.entries()) {
    if (attempt === 0) continue;
    assert.equal(delayAfterMs(attempt, null, 0), planned * 0.9);
    assert.equal(delayAfterMs(attempt, null, 0.5), planned);
    assert.equal(delayAfterMs(attempt, null, 1), Math.round(planned * 1.1));
  }
});

test('a retry is never earlier than Retry-After asks, nor earlier than the schedule because of it', () => {
  const attempts = fc.integer({ min: 1, max: 9 });
  const random = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(attempts, fc.integer({ min: 0, max: 48 * HOUR_MS }), random, (attempt, retryAfterMs, at) => {
      const delayMs = delayAfterMs(attempt, retryAfterMs, at) ?? 0;
      assert.ok(delayMs >= retryAfterMs);
      assert.ok(delayMs >= (ATTEMPT_DELAYS_MS[attempt] ?? 0) * 0.9 - 1);
    }),
  );
});

test('Retry-After is read in seconds and as a date, up to one day', () => {
  const nowMs = Date.parse('2026-11-21T08:00:00Z');
  assert.equal(readRetryAfter('120', nowMs), 120_000);
  assert.equal(readRetryAfter(' 7 ', nowMs), 7_000);
  assert.equal(readRetryAfter('0', nowMs), 0);
  assert.equal(readRetryAfter('Sat, 21 Nov 2026 09:00:00 GMT', nowMs), HOUR_MS);
  assert.equal(readRetryAfter('Saturday, 21-Nov-26 09:00:00 GMT', nowMs), HOUR_MS);
  assert.equal(readRetryAfter('Sat Nov 21 09:00:00 2026', nowMs), HOUR_MS);
  assert.equal(readRetryAfter('Fri, 20 Nov 2026 09:00:00 GMT', nowMs), 0);
  assert.equal(readRetryAfter('999999999', nowMs), 24 * HOUR_MS);
  assert.equal(readRetryAfter('Sat, 21 Nov 2126 09:00:00 GMT', nowMs), 24 * HOUR_MS);
});

test('an invalid Retry-After is ignored', () => {
  for (const value of [null, '', 'soon', '-5', '1.5', '1e3', '2026-11-21', 'Sat, never']) {
    assert.equal(readRetryAfter(value, 0), null, String(value));
  }
});
