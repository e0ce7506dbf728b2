import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createExternalIds } from '../../apps/server/src/rails/snap/message-fields.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
// Midnight in Jakarta, when the banks' day begins.
const MIDNIGHT_MS = Date.parse('2026-11-21T00:00:00+07:00');

describe('X-EXTERNAL-ID', () => {
  it('is numeric, has at most 19 digits, and is unique among 200,000', () => {
    const next = createExternalIds();
    const ids = Array.from({ length: 200_000 }, () => next());
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.every((id) => /^\d{1,19}$/.test(id)));
  });

  it('is unique within a day of the bank, at any time of the day', () => {
    let nowMs = MIDNIGHT_MS;
    const next = createExternalIds(() => nowMs);
    const ids = new Set<string>();
    const count = 100_000;
    for (let index = 0; index < count; index += 1) {
      nowMs = MIDNIGHT_MS + Math.floor((index * DAY_MS) / count);
      ids.add(next());
    }
    assert.equal(ids.size, count);
  });

  it('differs between processes, also when they start in the same second', () => {
    const first = Array.from({ length: 20 }, () => createExternalIds(() => MIDNIGHT_MS)());
    // Two of 20 processes may get the same random number once in some 5,000 runs, so there is a second try.
    const again = Array.from({ length: 20 }, () => createExternalIds(() => MIDNIGHT_MS)());
    assert.ok([first, again].some((ids) => new Set(ids).size === ids.length));
  });
});
