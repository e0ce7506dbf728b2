import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReaderSlots } from '../../apps/server/src/account-validations/uploads/reader-slots.ts';

test('whoever has been served comes after all who wait, and nobody has two places', async () => {
  const places = createReaderSlots(2, 64);
  const served: string[] = [];
  const take = async (client: string): Promise<void> => {
    await places.acquire(client);
    served.push(client);
  };
  const all = ['greedy', 'greedy', 'greedy', 'one', 'two', 'three', 'two'].map(take);
  for (const done of ['greedy', 'one', 'two', 'three', 'greedy', 'two']) {
    await new Promise(setImmediate);
    places.release(done);
  }
  await Promise.all(all);
  assert.deepEqual(served, ['greedy', 'one', 'two', 'three', 'greedy', 'two', 'greedy']);
});
