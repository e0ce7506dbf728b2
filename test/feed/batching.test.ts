import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { createFreshUpdater, type Message } from './fresh-updater.ts';

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const idOf = (index: number): string => `TG${String(index).padStart(10, '0')}`;

// Regression: 200 feeds a second of one line each waited for a connection of their own, and some got 503.
test('many concurrent feeds of one line are stored together, and each gets its own report', async () => {
  const count = 400;
  const answers = await Promise.all(
    Array.from({ length: count }, (_, index) => {
      // Every fourth contradicts itself, and every tenth repeats the one before.
      const id = idOf(index % 10 === 9 ? index - 1 : index);
      return service.feed(
        statusUpdate({
          transaction_id: id,
          reference_id: `ref ${id}`,
          ...(index % 4 === 3 ? { total_amount: '1.00' } : {}),
        }),
      );
    }),
  );
  const total = { inserted: 0, unchanged: 0, rejected: 0, conflicts: 0 };
  for (const answer of answers) {
    assert.equal(answer.status, 200, answer.text);
    const report = answer.json.data as Record<string, number | unknown[]>;
    total.inserted += Number(report['inserted']);
    total.unchanged += Number(report['unchanged']);
    total.rejected += (report['rejected'] as unknown[]).length;
    total.conflicts += (report['conflicts'] as unknown[]).length;
  }
  const stored = await service.app.database.query<{ count: string; sources: string }>(
    `select count(distinct transaction_id), string_agg(distinct source, ',') as sources
       from tiba.status_updates where transaction_id like 'TG%' and source <> 'clock'`,
  );
  assert.equal(total.inserted + total.unchanged + total.rejected + total.conflicts, count);
  assert.equal(Number(stored[0]?.count), total.inserted);
  assert.equal(stored[0]?.sources, 'core');
  // The line number in its own feed, not the position in the batch.
  for (const answer of answers) {
    const { rejected } = answer.json.data as { rejected: { line: number }[] };
    for (const { line } of rejected) assert.equal(line, 1);
  }
});

/** Applies batches of one update. Resolves to how many database transactions each took. */
function createCountedUpdater(database: Database) {
  const updater = createFreshUpdater(database);
  return async (message: Message, times = 1): Promise<number[]> => {
    const counts: number[] = [];
    for (let time = 0; time < times; time += 1) counts.push((await updater.apply(message)).attempts);
    return counts;
  };
}

/** Regression: batches without such an update used up those that look first, and ended their growth. */
test('a batch that took a stored transaction for new is applied twice; the next such batches look first', async () => {
  const apply = createCountedUpdater(service.app.database);
  const known = statusUpdate({ transaction_id: 'TG1000000001', reference_id: 'TG1' });
  const final = { client_id: 'alpha', transaction_id: 'TG1000000001', status: 'SUCCESS' };
  assert.deepEqual(await apply(known, 2), [1, 2]);
  assert.deepEqual(await apply(final, 8), Array(8).fill(1));
  assert.deepEqual(await apply(known, 8), Array(8).fill(1), 'eight batches look first');
  // A first update with a final status is looked up: it proves nothing.
  await apply(statusUpdate({ transaction_id: 'TG1000000002', reference_id: 'TG2', status: 'SUCCESS' }));
  assert.deepEqual(await apply(known, 17), [2, ...Array(16).fill(1)], 'then sixteen');
  await apply(statusUpdate({ transaction_id: 'TG1000000003', reference_id: 'TG3' }));
  assert.deepEqual(await apply(known, 9), [2, ...Array(8).fill(1)], 'and eight after a transaction that was new');
});
