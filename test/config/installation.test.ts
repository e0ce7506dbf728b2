import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import pino from 'pino';
import { StartError } from '../../apps/server/src/lib/start-error.ts';
import { type Database, openDatabase } from '../../apps/server/src/postgres/database.ts';
import type { InstallationEnvironment } from '../../apps/server/src/postgres/prepare-database.ts';
import { prepareDatabase } from '../../apps/server/src/postgres/prepare-database.ts';
import { createEmptyTestDatabase, type TestDatabase } from '../support/database.ts';

describe('a database belongs to one kind of installation', () => {
  let empty: TestDatabase;
  let database: Database;
  before(async () => {
    empty = await createEmptyTestDatabase();
  });
  beforeEach(() => {
    database = openDatabase({ connection: empty.connection, connectionsMax: 8, log: pino({ level: 'silent' }) });
  });
  afterEach(async () => {
    await database.query('drop schema if exists tiba cascade');
    await database.close();
  });
  after(() => empty.drop());

  const prepare = (environment: InstallationEnvironment): Promise<void> =>
    prepareDatabase(database, { environment, migrate: true });

  const KINDS: readonly (readonly [InstallationEnvironment, InstallationEnvironment])[] = [
    ['sandbox', 'production'],
    ['production', 'sandbox'],
    ['production', 'staging'],
    ['staging', 'production'],
  ];
  for (const [own, foreign] of KINDS) {
    it(`${own}: a ${foreign} start fails, and ${own} keeps working`, async () => {
      await prepare(own);
      await prepare(own);
      await assert.rejects(prepare(foreign), (error) => {
        assert.ok(error instanceof StartError);
        assert.match(
          error.message,
          new RegExp(
            `belongs to a ${own} installation, and this is ${foreign}: .*${own !== 'sandbox' && foreign !== 'sandbox' ? ', or correct TIBA_STAGING$' : 'directory$'}`,
          ),
        );
        return true;
      });
      await prepare(own);
    });
  }

  it('production: a sandbox start runs not one migration on it', async () => {
    // The state of an older version: the sandbox would have further migrations for it.
    await database.query('create schema tiba');
    await database.query('create table tiba.installation (environment text primary key)');
    await database.query("insert into tiba.installation values ('production')");
    await assert.rejects(prepare('sandbox'), StartError);
    const tables = await database.query("select tablename from pg_tables where schemaname = 'tiba'");
    assert.deepEqual(tables, [{ tablename: 'installation' }]);
  });

  it('the kind of one process when several start on it at once', async () => {
    const starts = await Promise.allSettled(
      Array.from({ length: 6 }, (_each, index) => prepare(index % 2 === 0 ? 'sandbox' : 'production')),
    );
    assert.equal(starts.filter(({ status }) => status === 'fulfilled').length, 3);
    assert.equal((await database.query('select environment from tiba.installation')).length, 1);
  });
});
