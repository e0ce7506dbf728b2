import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import pg from 'pg';
import { tableFromParameters, toColumnParameters } from '../../apps/server/src/postgres/bulk-parameters.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const COLUMNS = ['key', 'one', 'other'] as const;
let database: TestDatabase;
let client: pg.Client;

before(async () => {
  database = await createTestDatabase();
  client = new pg.Client(database.connection);
  await client.connect();
});
after(async () => {
  await client?.end();
  await database?.drop();
});

suite('rows passed as column parameters', () => {
  test('come back unchanged and in order; the empty text and null are the same', async () => {
    const value = fc.option(
      fc.string({ unit: fc.constantFrom('a', ' ', "'", '"', '\\', ',', '{', '\n', 'é', '\u{1f600}') }),
    );
    const rows = fc.array(fc.record({ one: value, other: value }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(rows, async (input) => {
        const sent = input.map((row, index) => ({ key: `row ${index}`, ...row }));
        const { rows: received } = await client.query(
          `select key, coalesce(one, '') as one, coalesce(other, '') as other from ${tableFromParameters(COLUMNS)}`,
          toColumnParameters(COLUMNS, sent),
        );
        assert.deepEqual(
          received,
          sent.map(({ key, one, other }) => ({ key, one: one ?? '', other: other ?? '' })),
        );
      }),
      { numRuns: 200 },
    );
  });

  test('a value with the separator throws: it would shift the values of all later rows', () => {
    assert.throws(() => toColumnParameters(COLUMNS, [{ key: 'a\u0001b', one: '', other: '' }]), /control character/);
  });
});
