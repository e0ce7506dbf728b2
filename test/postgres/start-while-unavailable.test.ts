import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { createTestDatabase } from '../support/database.ts';
import { startTestService } from '../support/service.ts';

// Regression: such a start printed a stack without the reason, as a defect does.
test('a start during which PostgreSQL becomes unavailable fails with the reason and what to do', async (t) => {
  const database = await createTestDatabase();
  const admin = new pg.Client(database.connection);
  await admin.connect();
  t.after(async () => {
    await admin.end();
    await database.drop();
  });
  await admin.query('begin');
  await admin.query('lock table tiba.signing_keys in access exclusive mode');
  const connection = { ...database.connection, lock_timeout: 500 };
  await assert.rejects(startTestService({ database: { ...database, connection } }), {
    name: 'StartError',
    message: /^PostgreSQL became unavailable during the start: .* lock timeout: start again$/,
  });
  await admin.query('rollback');
  const service = await startTestService({ database });
  await service.close();
});
