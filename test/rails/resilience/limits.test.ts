import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBulkhead, createRetryBudget } from '../../../apps/server/src/rails/resilience/limits.ts';
import { seededRandom } from './seed.ts';

describe('a retry budget', () => {
  it('allows one extra for every ten, and none before', () => {
    const budget = createRetryBudget(10, 10);
    for (let turn = 0; turn < 9; turn += 1) budget.earn();
    assert.equal(budget.spend(), false);
    budget.earn();
    assert.equal(budget.spend(), true);
    assert.equal(budget.spend(), false);
  });

  it('saves up no more than its maximum', () => {
    const budget = createRetryBudget(10, 3);
    for (let turn = 0; turn < 1_000; turn += 1) budget.earn();
    assert.deepEqual(
      Array.from({ length: 5 }, () => budget.spend()),
      [true, true, true, false, false],
    );
  });

  it('keeps the reserve', () => {
    const budget = createRetryBudget(10, 3);
    for (let turn = 0; turn < 30; turn += 1) budget.earn();
    assert.deepEqual([budget.spend(2), budget.spend(2), budget.spend(1), budget.spend(0)], [true, false, true, true]);
  });

  it('of one in Infinity allows none', () => {
    const budget = createRetryBudget(Number.POSITIVE_INFINITY, 10);
    for (let turn = 0; turn < 1_000; turn += 1) budget.earn();
    assert.equal(budget.spend(), false);
  });

  it('is never exceeded: not from the start, and from any later moment only by the saved maximum', (t) => {
    const random = seededRandom(t);
    for (const oneIn of [10, 50]) {
      const savedMax = 3;
      const budget = createRetryBudget(oneIn, savedMax);
      let earned = 0;
      let spent = 0;
      const balances: number[] = [];
      for (let turn = 0; turn < 20_000; turn += 1) {
        if (random() < 0.7) {
          budget.earn();
          earned += 1;
        } else if (budget.spend()) spent += 1;
        const balance = spent - earned / oneIn;
        assert.ok(balance <= 0, `${spent} extra after ${earned}`);
        balances.push(balance);
      }
      let least = 0;
      for (const balance of balances) {
        least = Math.min(least, balance);
        assert.ok(balance - least <= savedMax + 1e-6, 'a burst of more than was saved');
      }
      assert.ok(spent > 0.9 * Math.floor(earned / oneIn), 'the budget is available');
    }
  });
});

describe('a bulkhead', () => {
  it('is full at its maximum, and has a free slot again for each inquiry that ends', () => {
    const bulkhead = createBulkhead(2);
    const isFull = (): readonly boolean[] => [bulkhead.isFull(null, 0), bulkhead.isFull('alpha', 0)];
    bulkhead.enter('alpha');
    assert.deepEqual(isFull(), [false, false]);
    bulkhead.enter('alpha');
    assert.deepEqual(isFull(), [true, true]);
    bulkhead.leave('alpha');
    assert.deepEqual(isFull(), [false, false]);
    assert.equal(bulkhead.inFlight(), 1);
  });

  it('gives a client at most as many slots as it leaves free, for a minute after another client wanted some', () => {
    const bulkhead = createBulkhead(8);
    const enterAll = (clientId: string, nowMs: number): number => {
      let entered = 0;
      for (; !bulkhead.isFull(clientId, nowMs); entered += 1) bulkhead.enter(clientId);
      return entered;
    };
    assert.equal(enterAll('alpha', 0), 8, 'alone it may use all');
    assert.equal(enterAll('beta', 1), 0);
    for (let left = 0; left < 8; left += 1) {
      bulkhead.leave('alpha');
      if (left < 3) assert.equal(bulkhead.isFull('alpha', 2), true, `${left + 1} are free again, and beta wants some`);
    }
    assert.equal(enterAll('alpha', 3), 4);
    assert.equal(enterAll('beta', 4), 2);
    assert.equal(enterAll('gamma', 5), 1);
    for (let left = 0; left < 2; left += 1) bulkhead.leave('beta');
    bulkhead.leave('gamma');
    assert.equal(enterAll('alpha', 60_005), 0, 'the others wanted some less than a minute ago');
    assert.equal(enterAll('alpha', 60_006), 4);
  });
});
