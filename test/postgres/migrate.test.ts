import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import pg from 'pg';
import pino from 'pino';
import { type Database, openDatabase } from '../../apps/server/src/postgres/database.ts';
import { migrate } from '../../apps/server/src/postgres/migrate.ts';
import { createEmptyTestDatabase, type TestDatabase } from '../support/database.ts';

let testDatabase: TestDatabase;
let database: Database;
const open = (): Database =>
  openDatabase({ connection: testDatabase.connection, connectionsMax: 2, log: pino({ level: 'silent' }) });

before(async () => {
  testDatabase = await createEmptyTestDatabase();
  database = open();
});
after(async () => {
  await database?.close();
  await testDatabase?.drop();
});
beforeEach(() => database.query('drop schema if exists tiba cascade'));

const applied = () => database.query<{ name: string }>('select name from tiba.migrations order by name');

suite('migrating', () => {
  test('creates the schema, and changes nothing the next time', async () => {
    await migrate(database);
    const once = await applied();
    assert.deepEqual(once[0], { name: '0001_initial_schema.sql' });
    await migrate(database);
    assert.deepEqual(await applied(), once);
  });

  test('is done by one of several processes that start together', async () => {
    const processes = Array.from({ length: 4 }, open);
    try {
      await Promise.all(processes.map(migrate));
    } finally {
      await Promise.all(processes.map((each) => each.close()));
    }
    assert.ok((await applied()).length > 0);
  });

  // Regression: the wait ended after 1.5 s, which is how long a look-up may wait for a lock.
  test('waits for a long migration of another process', async () => {
    const other = new pg.Client(testDatabase.connection);
    await other.connect();
    try {
      await other.query('select pg_advisory_lock($1)', [0x74696261]);
      const migrating = migrate(database);
      await other.query('select pg_sleep(2)');
      await other.query('select pg_advisory_unlock_all()');
      await migrating;
    } finally {
      await other.end();
    }
    assert.ok((await applied()).length > 0);
  });

  test('fails when an applied migration was changed afterwards, and changes nothing', async () => {
    await migrate(database);
    await database.query("update tiba.migrations set sha256 = 'another' where name = '0001_initial_schema.sql'");
    await assert.rejects(migrate(database), /migration 0001_initial_schema\.sql was changed/);
  });

  test('fails on a database that a newer program has migrated', async () => {
    await migrate(database);
    await database.query("insert into tiba.migrations (name, sha256) values ('9999-tomorrow.sql', '')");
    await assert.rejects(
      migrate(database),
      /newer than this program, which does not know 9999-tomorrow\.sql: start the newer version/,
    );
  });
});
