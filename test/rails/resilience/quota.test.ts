import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createQuota } from '../../../apps/server/src/rails/resilience/quota.ts';
import { seededRandom } from './seed.ts';

const at = (iso: string): number => Date.parse(iso);

describe('a quota', () => {
  it('per second is exact over any second, and allows every inquiry within it', (t) => {
    const random = seededRandom(t);
    for (const perSecond of [1, 3, 20]) {
      const quota = createQuota({ perSecond, perDay: null }, () => 0);
      const taken: number[] = [];
      let nowMs = 1.25;
      while (taken.length < 2_000) {
        nowMs += random() < 0.1 ? random() * 1_500 : random() * (400 / perSecond);
        const waitMs = quota.waitMs(nowMs);
        const recent = taken.filter((each) => each > nowMs - 1_000).length;
        assert.equal(waitMs === 0, recent < perSecond, `${recent} of ${perSecond} in the last second`);
        if (waitMs > 0) {
          assert.equal(quota.left(nowMs).second, 0);
          assert.ok(quota.waitMs(nowMs + waitMs) < 1e-6, 'one may be sent then');
          continue;
        }
        quota.take(nowMs);
        taken.push(nowMs);
      }
      for (const [index, time] of taken.entries()) {
        const first = taken[index - perSecond];
        assert.ok(first === undefined || time - first >= 1_000, `${perSecond + 1} within ${time - (first ?? 0)} ms`);
      }
    }
  });

  it('per day ends at midnight in Jakarta, not in UTC', () => {
    let wallMs = at('2026-11-21T16:59:58.000Z');
    const quota = createQuota({ perSecond: null, perDay: 2 }, () => wallMs);
    quota.take(0);
    assert.deepEqual(quota.left(0), { second: null, day: 1 });
    quota.take(0);
    assert.equal(quota.waitMs(0), 2_000, 'until midnight in Jakarta');
    wallMs = at('2026-11-21T17:00:00.000Z');
    assert.equal(quota.waitMs(0), 0);
    assert.deepEqual(quota.left(0), { second: null, day: 2 });
    quota.take(0);
    quota.take(0);
    wallMs = at('2026-11-22T00:00:00.000Z');
    assert.equal(quota.waitMs(0), 17 * 60 * 60 * 1_000, 'midnight in UTC changes nothing');
  });

  it('is not granted twice when the clock is set back over midnight', () => {
    let wallMs = at('2026-11-21T17:00:01.000Z');
    const quota = createQuota({ perSecond: null, perDay: 1 }, () => wallMs);
    assert.equal(quota.waitMs(0), 0);
    quota.take(0);
    wallMs = at('2026-11-21T16:59:00.000Z');
    assert.ok(quota.waitMs(0) > 0);
    wallMs = at('2026-11-21T17:00:02.000Z');
    assert.ok(quota.waitMs(0) > 0);
  });

  it('without limits allows everything', () => {
    const quota = createQuota({ perSecond: null, perDay: null }, () => 0);
    for (let turn = 0; turn < 1_000; turn += 1) quota.take(0);
    assert.equal(quota.waitMs(0), 0);
    assert.deepEqual(quota.left(0), { second: null, day: null });
  });

  it('enforces the limits per second and per day together', () => {
    let wallMs = at('2026-11-21T10:00:00.000Z');
    const quota = createQuota({ perSecond: 1, perDay: 2 }, () => wallMs);
    quota.take(0);
    assert.equal(quota.waitMs(0), 1_000);
    wallMs += 1_000;
    quota.take(1_000);
    assert.equal(quota.waitMs(5_000), at('2026-11-21T17:00:00.000Z') - wallMs);
  });
});
