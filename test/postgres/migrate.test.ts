import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, suite, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import pino from 'pino';
import { type Database, openDatabase } from '../../apps/server/src/postgres/database.ts';
import { migrate, readSchemaState, requireSchema } from '../../apps/server/src/postgres/migrate.ts';
import { commandsOf, MIGRATIONS_DIRECTORY } from '../../apps/server/src/postgres/migrations.ts';
import { createEmptyTestDatabase, type TestDatabase } from '../support/database.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

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

  // Regression: on a distributed database, an index beside another command of its migration was refused.
  test('sends each command alone', () => {
    const body = `create function f() returns text language sql as $f$ select '; --' || $1 /* ; */; $f$`;
    const commands = [
      `comment on table t is 'it''s; here -- and /* there'`,
      `create table ";--" (a int default 3 - 1 / 2)`,
      body,
      'create index i on t (a)',
    ];
    const file = `-- runs with: 0001_x.sql;\n${commands.join('; -- a comment;\n/* another; */ ')};\n\n-- the end\n`;
    assert.deepEqual(commandsOf(file), commands);
  });

  test('is done by one of several processes that start together', async () => {
    const processes = Array.from({ length: 4 }, open);
    try {
      await Promise.all(processes.map((each) => migrate(each)));
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

  // Regression: one long reader made every status check wait behind the migration, for as long as it read.
  test('a migration that waits for a long reader lets look-ups through, and is applied after it', async (context) => {
    await migrate(database);
    const directory = await addMigration(context, '0002_planted.sql', {
      runsWith: '0001_initial_schema.sql',
      sql: 'alter table tiba.transactions add column planted text;',
    });
    const reader = new pg.Client(testDatabase.connection);
    await reader.connect();
    context.after(() => reader.end());
    await reader.query('begin; select count(*) from tiba.transactions;');

    const blocked = Promise.withResolvers<void>();
    const twice = Promise.withResolvers<void>();
    let waits = 0;
    const migrating = migrate(database, {
      directory,
      onBlocked() {
        waits += 1;
        (waits === 1 ? blocked : twice).resolve();
      },
    });
    const looking = lookUpUntil(twice.promise);
    await blocked.promise;
    assert.ok((await looking) < timeLimitMs(1_000), 'a look-up waited for as long as the reader');
    await reader.query('rollback');
    await migrating;
    assert.deepEqual((await applied()).at(-1), { name: '0002_planted.sql' });
  });

  test('ends with what to do when the reader does not end', async (context) => {
    await migrate(database);
    const directory = await addMigration(context, '0002_planted.sql', {
      runsWith: '0001_initial_schema.sql',
      sql: 'alter table tiba.transactions add column planted text;',
    });
    const reader = new pg.Client(testDatabase.connection);
    await reader.connect();
    context.after(() => reader.end());
    await reader.query('begin; select count(*) from tiba.transactions;');
    await assert.rejects(migrate(database, { directory, timeoutMs: 0 }), /pg_stat_activity/);
    assert.equal((await applied()).length, 1);
  });
});

suite('a program and the schema that it finds', () => {
  test('no tables: nothing runs on it before it is migrated', async () => {
    await assert.rejects(requireSchema(database), /no tables of Tiba: run npm run migrate first/);
    assert.equal(await readSchemaState(database), null);
  });

  test('its own schema', async () => {
    await migrate(database);
    await requireSchema(database);
  });

  test('an older one: nothing runs on it before it is migrated', async () => {
    await migrate(database);
    await database.query('delete from tiba.migrations');
    await assert.rejects(
      requireSchema(database),
      /older than this program, 0001_initial_schema\.sql is missing: run npm run migrate first/,
    );
  });

  test('a newer one that was only added to: it runs, and migrating changes nothing', async () => {
    await migrate(database);
    await pretendNewer('0001_initial_schema.sql');
    await requireSchema(database);
    await migrate(database);
    assert.deepEqual(await readSchemaState(database), { kind: 'newer', unknown: ['9999_tomorrow.sql'] });
  });

  test('a newer one that needs a newer program: nothing runs on it', async () => {
    await migrate(database);
    await pretendNewer('0002_today.sql');
    for (const action of [() => migrate(database), () => requireSchema(database)]) {
      await assert.rejects(
        action,
        /newer than this program, which cannot run with 9999_tomorrow\.sql: start the newer/,
      );
    }
  });

  test('a migration that does not say which programs run with it is refused', async (context) => {
    for (const runsWith of ['', '0003_later.sql']) {
      const directory = await addMigration(context, '0002_planted.sql', { runsWith, sql: '' });
      await assert.rejects(
        migrate(database, { directory }),
        /the first line of 0002_planted\.sql must be: -- runs with/,
      );
    }
  });
});

const pretendNewer = (runsWith: string) =>
  database.query("insert into tiba.migrations (name, sha256, runs_with) values ('9999_tomorrow.sql', '', $1)", [
    runsWith,
  ]);

/** The migrations of this program and one more. */
async function addMigration(
  context: TestContext,
  name: string,
  { runsWith, sql }: { readonly runsWith: string; readonly sql: string },
): Promise<URL> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-migrations-'));
  context.after(() => rm(directory, { recursive: true }));
  await cp(MIGRATIONS_DIRECTORY, directory, { recursive: true });
  await writeFile(path.join(directory, name), `-- runs with: ${runsWith}\n${sql}\n`);
  return pathToFileURL(`${directory}/`);
}

/**
 * Looks transactions up, one after the other, until `end` resolves. Returns how long the slowest look-up took, in ms.
 */
async function lookUpUntil(end: Promise<void>): Promise<number> {
  const other = open();
  let slowestMs = 0;
  const over = new AbortController();
  void end.then(() => over.abort());
  try {
    while (!over.signal.aborted) {
      const startedMs = performance.now();
      await other.query("select from tiba.transactions where client_id = 'a' and transaction_id = 'b'");
      slowestMs = Math.max(slowestMs, performance.now() - startedMs);
    }
    return slowestMs;
  } finally {
    await other.close();
  }
}
