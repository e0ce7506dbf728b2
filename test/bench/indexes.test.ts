import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { dropIndexes } from '../../bench/database/indexes.ts';
import { createTestDatabase } from '../support/database.ts';

interface Definition {
  readonly name: string;
  readonly definition: string;
}

/** What benches fill. */
const FILLED = [
  'tiba.transactions',
  'tiba.transactions_in_process',
  'tiba.transactions_final',
  'tiba.events',
  'tiba.account_checks',
  'tiba.callback_outbox',
  'tiba.callback_attempts',
];

const ALL_INDEXES_SQL = `
select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
  from pg_index i join pg_class t on t.oid = i.indrelid
 where t.relnamespace = 'tiba'::regnamespace order by name`;

/** Without what a bench adds: space in each page. */
const withoutFillfactor = ({ name, definition }: Definition): Definition => ({
  name,
  definition: definition.replace(/ WITH \(fillfactor='\d+'\)|fillfactor='\d+', /, ''),
});

// Regression: an index with options got a second WITH, so no bench that fills millions of rows could start.
test('a bench that fills tables without their indexes creates the same ones, also those with options', async () => {
  const database = await createTestDatabase();
  const client = new pg.Client({ connectionString: database.connection.connectionString });
  try {
    await client.connect();
    const { rows: before } = await client.query<Definition>(ALL_INDEXES_SQL);
    assert.ok(before.some(({ definition }) => / WITH \(.+\) WHERE /.test(definition)));
    const indexes = await dropIndexes(client, FILLED);
    for (const { createSql } of indexes) await client.query(createSql);
    for (const { constraintSql } of indexes) if (constraintSql !== null) await client.query(constraintSql);
    const { rows: after } = await client.query<Definition>(ALL_INDEXES_SQL);
    assert.deepEqual(after.map(withoutFillfactor), before.map(withoutFillfactor));
  } finally {
    await client.end();
    await database.drop();
  }
});
