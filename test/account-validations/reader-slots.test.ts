import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReaderSlots } from '../../apps/server/src/account-validations/uploads/reader-slots.ts';

test('a client that was served comes after all that wait, and no client has two slots', async () => {
  const slots = createReaderSlots(2, 64);
  const served: string[] = [];
  const acquire = async (client: string): Promise<void> => {
    await slots.acquire(client);
    served.push(client);
  };
  const all = ['greedy', 'greedy', 'greedy', 'one', 'two', 'three', 'two'].map(acquire);
  for (const done of ['greedy', 'one', 'two', 'three', 'greedy', 'two']) {
    await new Promise(setImmediate);
    slots.release(done);
  }
  await Promise.all(all);
  assert.deepEqual(served, ['greedy', 'one', 'two', 'three', 'greedy', 'two', 'greedy']);
});
