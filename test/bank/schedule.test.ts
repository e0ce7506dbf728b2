import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createDueQueue } from '../../apps/bank/src/transfers/due-queue.ts';
import { createSchedule } from '../../apps/bank/src/transfers/schedule.ts';

const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31);
const DAY_MS = 24 * 60 * 60 * 1000;

function fail(): never {
  assert.fail('The item ran.');
}

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

describe('scheduled items', () => {
  it(`are removed in order of due time, then in the order in which they were added (seed ${seed}; repeat with FC_SEED)`, () => {
    // A number adds an item due at that time; null removes the first item.
    const actions = fc.array(fc.oneof({ weight: 2, arbitrary: fc.nat(20) }, fc.constant(null)), { maxLength: 200 });
    const property = fc.property(actions, (sequence) => {
      const queue = createDueQueue<number>();
      const model: { dueAtMs: number; item: number }[] = [];
      for (const [item, dueAtMs] of sequence.entries()) {
        if (dueAtMs === null) {
          assert.equal(queue.takeFirst(), model.shift()?.item ?? null);
        } else {
          queue.add(dueAtMs, item);
          model.push({ dueAtMs, item });
          model.sort((one, other) => one.dueAtMs - other.dueAtMs || one.item - other.item);
        }
        assert.equal(queue.firstDueAtMs(), model[0]?.dueAtMs ?? null);
      }
    });
    fc.assert(property, { seed, numRuns: 300 });
  });

  it('use one timer in total, and none once the schedule is closed', () => {
    const before = countTimers();
    const schedule = createSchedule<number>(() => 0, fail);
    for (let index = 10_000; index > 0; index -= 1) schedule.add(DAY_MS + index, index);
    assert.equal(countTimers() - before, 1);
    schedule.close();
    assert.equal(countTimers() - before, 0);
  });

  it('run at their due time, the earlier first even if it was added last', async () => {
    const done = Promise.withResolvers<void>();
    const ran: string[] = [];
    const schedule = createSchedule<string>(Date.now, (item) => {
      ran.push(item);
      if (ran.length === 2) done.resolve();
    });
    const nowMs = Date.now();
    schedule.add(nowMs + 60, 'later');
    schedule.add(nowMs + 20, 'earlier');
    await done.promise;
    assert.deepEqual(ran, ['earlier', 'later']);
    assert.ok(Date.now() >= nowMs + 60);
    schedule.close();
  });

  it('that are due later than the longest timeout do not wake the schedule repeatedly', async () => {
    let wakes = 0;
    const countWakes = () => {
      wakes += 1;
      return Date.now();
    };
    const far = createSchedule<string>(countWakes, fail);
    far.add(Date.now() + 60 * DAY_MS, 'far');
    const { promise, resolve } = Promise.withResolvers<string>();
    const near = createSchedule<string>(Date.now, resolve);
    near.add(Date.now() + 20, 'near');
    await promise;
    far.close();
    // setTimeout replaces a too long delay by 1 ms, which would have fired many times by now.
    assert.ok(wakes <= 2, `${wakes} wakes`);
  });

  it('do not run after the schedule is closed, even if they are due', () => {
    let nowMs = 0;
    const schedule = createSchedule<string>(() => nowMs, fail);
    schedule.add(10, 'closed');
    schedule.close();
    nowMs = 10;
    schedule.runDue();
  });
});
