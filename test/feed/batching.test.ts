import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';

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
