import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLatencies } from '../../../apps/server/src/rails/resilience/recent-outcomes.ts';
import { seededRandom } from './seed.ts';

describe('the latencies of a bank', () => {
  it('have no quantiles until enough are known', () => {
    const latencies = createLatencies();
    for (let turn = 0; turn < 19; turn += 1) latencies.record(10, true);
    assert.equal(latencies.quantile(0.95), null);
    latencies.record(10, true);
    assert.equal(latencies.quantile(0.95), 10);
  });

  it('have the quantiles of the recorded durations, in any order', (t) => {
    const random = seededRandom(t);
    const latencies = createLatencies();
    const order = Array.from({ length: 1_000 }, (_each, index) => ({ ms: index, at: random() }));
    for (const { ms } of order.sort((a, b) => a.at - b.at)) latencies.record(ms, true);
    assert.deepEqual([latencies.quantile(0), latencies.quantile(0.5), latencies.quantile(0.95)], [0, 500, 950]);
    assert.equal(latencies.quantile(1), 999);
  });

  it('drop the oldest durations', () => {
    const latencies = createLatencies();
    for (let turn = 0; turn < 5_000; turn += 1) latencies.record(1_000, true);
    assert.equal(latencies.quantile(0.5), 1_000);
    for (let turn = 0; turn < 1_024 + 64; turn += 1) latencies.record(5, false);
    assert.equal(latencies.quantile(0.95), 5);
    assert.equal(latencies.answers(), 0);
    latencies.record(5, true);
    assert.equal(latencies.answers(), 1);
  });

  it('reflect a change soon', () => {
    const latencies = createLatencies();
    for (let turn = 0; turn < 20; turn += 1) latencies.record(10, true);
    assert.equal(latencies.quantile(0.95), 10);
    for (let turn = 0; turn < 20; turn += 1) latencies.record(500, true);
    assert.equal(latencies.quantile(0.95), 500);
  });
});
