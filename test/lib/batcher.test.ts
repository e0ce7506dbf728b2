import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type BatcherOptions, createBatcher } from '../../apps/server/src/lib/batcher.ts';

/** A writer whose batches end when the test says so. */
function createControlledWriter(weightMax: number, options: BatcherOptions<number> = {}) {
  const batches: { readonly items: readonly number[]; end(): void; fail(error: Error): void }[] = [];
  let inFlight = 0;
  let inFlightMax = 0;
  const onWrite: { call?: (items: readonly number[]) => void } = {};
  const batcher = createBatcher<number, string>(
    (items) => {
      inFlight += 1;
      inFlightMax = Math.max(inFlightMax, inFlight);
      onWrite.call?.(items);
      const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
      const results = items.map((item) => `wrote ${item}`);
      batches.push({ items, end: () => resolve(results), fail: reject });
      return promise.finally(() => (inFlight -= 1));
    },
    weightMax,
    options,
  );
  return { add: batcher.add, batches, onWrite, inFlightMax: () => inFlightMax };
}

const itemsOf = (batches: readonly { readonly items: readonly number[] }[]): (readonly number[])[] =>
  batches.map(({ items }) => items);

suite('a batcher', () => {
  test('writes the items of one turn of the event loop together, and those that arrive during the write after it', async () => {
    const { add, batches } = createControlledWriter(10);
    const first = [add(1), add(2)];
    await nextTurn();
    const second = [add(3), add(4), add(5)];
    await nextTurn();
    assert.deepEqual(itemsOf(batches), [[1, 2]]);
    batches[0]?.end();
    assert.deepEqual(await Promise.all(first), ['wrote 1', 'wrote 2']);
    await nextTurn();
    assert.deepEqual(itemsOf(batches), [
      [1, 2],
      [3, 4, 5],
    ]);
    batches[1]?.end();
    assert.deepEqual(await Promise.all(second), ['wrote 3', 'wrote 4', 'wrote 5']);
  });

  test('fills a batch up to its weight, in order, and writes a heavier item alone', async () => {
    const { add, batches } = createControlledWriter(10, { weightOf: (item) => item });
    const results = Promise.all([4, 6, 1, 30, 2, 9].map(add));
    for (let index = 0; index < 5; index += 1) {
      await nextTurn();
      batches[index]?.end();
    }
    assert.deepEqual(itemsOf(batches), [[4, 6], [1], [30], [2], [9]]);
    assert.equal((await results)[3], 'wrote 30');
  });

  test('writes the items of a failed batch again one by one on request, so that only the faulty item fails', async () => {
    const isolated = createBatcher<number>(
      async (items) => {
        if (items.includes(2)) throw new Error('2 cannot be written');
      },
      10,
      { isolates: (error) => error instanceof Error },
    );
    const results = await Promise.allSettled([1, 2, 3].map((item) => isolated.add(item)));
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
  });

  // Regression: the items of a batch whose write rejected were never settled, and their callers waited without end.
  test('rejects the items of a batch whose write rejects, and writes the next batch', async () => {
    const { add, batches } = createControlledWriter(10);
    const failed = Promise.allSettled([add(1), add(2)]);
    await nextTurn();
    const next = add(3);
    batches[0]?.fail(new Error('connection lost'));
    assert.deepEqual(
      (await failed).map((each) => each.status === 'rejected' && String(each.reason)),
      ['Error: connection lost', 'Error: connection lost'],
    );
    await nextTurn();
    batches[1]?.end();
    assert.equal(await next, 'wrote 3');
  });

  // Regression: two starts scheduled in one turn let a third batch start, which took a connection from others.
  test('never has more batches in flight than it may', async () => {
    const { add, batches, onWrite, inFlightMax } = createControlledWriter(1, { batchesMax: 2 });
    const items = [add(1)];
    await nextTurn();
    // Schedules a start for the next turn; the end of the first batch takes the item before that.
    items.push(add(2));
    batches[0]?.end();
    await items[0];
    await Promise.resolve();
    // The second item is in flight: this schedules another start for the same turn.
    items.push(add(3));
    onWrite.call = ([item]) => {
      if (item === 3) items.push(add(4));
    };
    await nextTurn();
    await nextTurn();
    assert.deepEqual(itemsOf(batches), [[1], [2], [3]]);
    for (const index of [1, 2, 3]) {
      batches[index]?.end();
      await nextTurn();
    }
    assert.deepEqual(await Promise.all(items), ['wrote 1', 'wrote 2', 'wrote 3', 'wrote 4']);
    assert.equal(inFlightMax(), 2);
  });
});
