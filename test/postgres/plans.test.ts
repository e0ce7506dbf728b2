import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTestService, type TestService, word } from '../support/service.ts';

let database: TestDatabase;
let service: TestService;

before(async () => {
  database = await createTestDatabase();
  service = await startTestService({ rails: [], database });
});
after(async () => {
  await service?.close();
  await database?.drop();
});

async function feed(from: number, count: number): Promise<void> {
  const lines = Array.from({ length: count }, (_, index) => {
    const id = `TP${String(from + index).padStart(10, '0')}`;
    return JSON.stringify(word({ transaction_id: id, reference_id: id }));
  });
  const answer = await service.feed(lines.join('\n'));
  assert.equal(answer.status, 200, answer.text);
}

async function lookUp(times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    assert.equal((await service.get('/api/v1/check-status/TP0000000001')).status, 200);
  }
}

/** Rows that were read for all that was done, by reading whole tables and by their indexes. */
async function rowsRead(client: pg.Client): Promise<{ whole: number; indexed: number }> {
  const { rows } = await client.query<{ whole: number; indexed: number }>(
    `select sum(seq_tup_read)::integer as whole, sum(idx_tup_fetch)::integer as indexed
       from pg_stat_user_tables where relname in ('transactions', 'status_updates')`,
  );
  return rows[0] ?? { whole: 0, indexed: 0 };
}

// Regression: on a database that is still empty, the checks of foreign keys took the index of references, by the client
// alone, and read all of its transactions for each line.
test('a database that was empty when its connections were opened is read by its keys also when it has grown', async () => {
  const fresh = await startTestService({ rails: [] });
  const client = new pg.Client(fresh.database.connection);
  try {
    await client.connect();
    for (let from = 0; from < 3_000; from += 100) {
      const words = Array.from({ length: 100 }, (_, index) =>
        word({
          transaction_id: `TQ${String(from + index).padStart(10, '0')}`,
          reference_id: `fresh ${from + index}`,
          status: 'SUCCESS',
        }),
      );
      assert.equal((await fresh.feed(words)).status, 200);
    }
    await fresh.app.close();
    const { indexed } = await rowsRead(client);
    assert.ok(indexed < 60_000, `${indexed} rows were read by an index`);
  } finally {
    await client.end();
    await fresh.close();
  }
});

// Regression: connections kept the plans of foreign keys and prepared statements that had been made for a small table.
// The first long feed then read the whole table for every line, until it met its deadline and was 503.
test('a table that was analyzed when it was small is read by its keys also when it has grown', async () => {
  const client = new pg.Client(database.connection);
  await client.connect();
  try {
    await feed(0, 16);
    // Autovacuum does this whenever it comes by.
    await client.query('vacuum analyze tiba.transactions, tiba.status_updates');
    await feed(0, 16);
    await lookUp(10);
    await feed(16, 3_000);
    await lookUp(50);
    // A connection tells what it counted when it ends, at the latest.
    await service.close();
    const { whole, indexed } = await rowsRead(client);
    assert.ok(whole < 1_000, `${whole} rows were read by reading a whole table`);
    // A handful for each line, also for calling it overdue; with a plan gone wrong it would be millions.
    assert.ok(indexed < 60_000, `${indexed} rows were read by an index`);
  } finally {
    await client.end();
  }
});
