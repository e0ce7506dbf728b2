import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import pino from 'pino';
import {
  type Database,
  DatabaseContended,
  DatabaseUnavailable,
  openDatabase,
} from '../../apps/server/src/postgres/database.ts';
import { connectionTo } from '../../apps/server/src/postgres/primary-client.ts';
import { createTestDatabase, type TestDatabase, withServiceTimeouts } from '../support/database.ts';
import { listenOnLoopback } from '../support/http-receiver.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

const log = pino({ level: 'silent' });
let testDatabase: TestDatabase;
let database: Database;

before(async () => {
  testDatabase = withServiceTimeouts(await createTestDatabase());
  database = openDatabase({ connection: testDatabase.connection, connectionsMax: 3, log });
  await database.query('create table counters (name text primary key, value integer not null)');
  await database.query("insert into counters values ('one', 0), ('two', 0)");
});
after(async () => {
  await database?.close();
  await testDatabase?.drop();
});

const valueOf = async (name: string): Promise<number | undefined> =>
  (await database.query<{ value: number }>('select value from counters where name = $1', [name]))[0]?.value;

const isUnavailable = (lostConnection: boolean) => (error: unknown) =>
  error instanceof DatabaseUnavailable && error.lostConnection === lostConnection;

/** Regression: before PostgreSQL 18, heartbeats were compiled. Under load they reached their deadlines. */
test('no statement is compiled (JIT), whatever the server has as its default', async () => {
  const [setting] = await database.query("select setting, source from pg_settings where name = 'jit'");
  assert.deepEqual(setting, { setting: 'off', source: 'client' });
});

suite('a database transaction', () => {
  test('is stored as a whole, or not at all', async () => {
    await database.transaction((query) => query("update counters set value = 1 where name = 'one'"));
    assert.equal(await valueOf('one'), 1);
    const error = new Error('thrown by the caller');
    await assert.rejects(
      database.transaction(async (query) => {
        await query("update counters set value = 2 where name = 'one'");
        throw error;
      }),
      error,
    );
    assert.equal(await valueOf('one'), 1);
  });

  test('is READ COMMITTED, whatever the server has as its default', async () => {
    const connection = { ...testDatabase.connection, options: '-c default_transaction_isolation=serializable' };
    const strict = openDatabase({ connection, connectionsMax: 1, log });
    try {
      const level = await strict.transaction(async (query) => {
        const { rows } = await query<{ transaction_isolation: string }>('show transaction_isolation');
        return rows[0]?.transaction_isolation;
      });
      assert.equal(level, 'read committed');
    } finally {
      await strict.close();
    }
  });

  test('that deadlocks with another fails as DatabaseContended for one of them, which stores nothing', async () => {
    const bothLocked = Promise.withResolvers<void>();
    let locked = 0;
    const add = (first: string, second: string) =>
      database.transaction(async (query) => {
        await query('update counters set value = value + 10 where name = $1', [first]);
        if ((locked += 1) === 2) bothLocked.resolve();
        await bothLocked.promise;
        await query('update counters set value = value + 10 where name = $1', [second]);
      });
    const before = [await valueOf('one'), await valueOf('two')];
    const results = await Promise.allSettled([add('one', 'two'), add('two', 'one')]);
    const failed = results.filter((each) => each.status === 'rejected');
    assert.equal(failed.length, 1);
    assert.ok(failed[0]?.reason instanceof DatabaseContended, String(failed[0]?.reason));
    assert.deepEqual(
      [await valueOf('one'), await valueOf('two')],
      before.map((value) => (value ?? 0) + 10),
    );
  });

  test('whose connection is lost fails as DatabaseUnavailable, and the next one has a new connection', async () => {
    await assert.rejects(
      database.transaction(async (query) => {
        const { rows } = await query<{ pid: number }>('select pg_backend_pid() as pid');
        await database.query('select pg_terminate_backend($1::int, 1000)', [rows[0]?.pid]);
        await query("update counters set value = 99 where name = 'one'");
      }),
      DatabaseUnavailable,
    );
    assert.notEqual(await valueOf('one'), 99);
  });
});

suite('failures', () => {
  test('a statement that takes too long is cancelled and fails as unavailable; its connection is kept', async () => {
    const startedMs = performance.now();
    await assert.rejects(database.query('select pg_sleep(10)'), isUnavailable(false));
    assert.ok(performance.now() - startedMs < timeLimitMs(2_500));
    const [running] = await database.query<{ count: string }>(
      `select count(*) from pg_stat_activity
        where query like '%pg_sleep(10)%' and pid <> pg_backend_pid() and state = 'active'`,
    );
    assert.equal(running?.count, '0');
  });

  /** Regression: at the moment at which a node died, a feed got 500. */
  for (const message of [
    'failure on connection marked as essential: worker:5432',
    'server closed the connection unexpectedly',
    'could not receive data from server: Connection reset by peer',
    'could not send data to server: Broken pipe',
  ]) {
    test(`what Citus says of a node that it lost fails as unavailable: ${message}`, async () => {
      const sql = `do $$ begin raise '${message}' using errcode = 'XX000'; end $$`;
      await assert.rejects(database.query(sql), isUnavailable(true));
      await assert.rejects(
        database.transaction((query) => query(sql)),
        isUnavailable(true),
      );
    });
  }

  /** Regression: where an administrator has set one (PostgreSQL 17 and later), requests got 500. */
  test('a transaction that PostgreSQL ends by its transaction_timeout fails as unavailable', async (t) => {
    const [{ version } = { version: 0 }] = await database.query<{ version: number }>(
      "select current_setting('server_version_num')::int as version",
    );
    if (version < 170_000) return t.skip('PostgreSQL has it from version 17 on');
    const connection = { ...testDatabase.connection, options: '-c transaction_timeout=200ms' };
    const limited = openDatabase({ connection, connectionsMax: 1, log });
    try {
      await assert.rejects(limited.query('select pg_sleep(1)'), isUnavailable(true));
      await assert.rejects(
        limited.transaction((query) => query('select pg_sleep(1)')),
        isUnavailable(true),
      );
      await limited.query('select');
    } finally {
      await limited.close();
    }
  });

  test('waiting too long for a lock fails as unavailable', async () => {
    const other = new pg.Client(testDatabase.connection);
    await other.connect();
    try {
      await other.query('begin');
      await other.query('lock table counters');
      await assert.rejects(valueOf('one'), isUnavailable(false));
    } finally {
      await other.end();
    }
  });

  test('a missing server fails as unavailable: no listener, no socket, no such host', async () => {
    const connections: pg.ClientConfig[] = [
      { host: '127.0.0.1', port: 1 },
      { host: '/nonexistent' },
      { host: 'host.invalid' },
    ];
    for (const connection of connections) {
      const unreachable = openDatabase({ connection, connectionsMax: 1, log });
      try {
        await assert.rejects(unreachable.query('select'), isUnavailable(true), JSON.stringify(connection));
        await assert.rejects(
          unreachable.transaction((query) => query('select')),
          isUnavailable(true),
        );
      } finally {
        await unreachable.close();
      }
    }
  });

  test('no free connection within a second fails as unavailable', async () => {
    const onlyConnection = openDatabase({ connection: testDatabase.connection, connectionsMax: 1, log });
    try {
      const finish = Promise.withResolvers<void>();
      const transaction = onlyConnection.transaction(() => finish.promise);
      const startedMs = performance.now();
      await assert.rejects(onlyConnection.query('select'), isUnavailable(false));
      assert.ok(performance.now() - startedMs < timeLimitMs(1_500));
      finish.resolve();
      await transaction;
      await onlyConnection.query('select');
    } finally {
      await onlyConnection.close();
    }
  });

  /** Regression: requests got 500 while the password of a service that was running was not the right one. */
  test('a refused login, and a database that is gone, fail as unavailable until that is corrected', async () => {
    const role = `role_${randomBytes(6).toString('hex')}`;
    const { connectionString = '' } = testDatabase.connection;
    await database.query(`create role ${role} login`);
    const refused = openDatabase({
      connection: { connectionString: connectionString.replace('://tiba@', `://${role}@`) },
      connectionsMax: 1,
      log,
    });
    const gone = openDatabase({
      connection: { connectionString: connectionString.replace(/\/test_/, '/gone_') },
      connectionsMax: 1,
      log,
    });
    try {
      await database.query(`alter role ${role} nologin`);
      await assert.rejects(refused.query('select'), isUnavailable(false));
      await assert.rejects(gone.query('select'), isUnavailable(false));
      await database.query(`alter role ${role} login`);
      await refused.query('select');
    } finally {
      await Promise.all([refused.close(), gone.close()]);
      await database.query(`drop role ${role}`);
    }
  });

  test("an error in a statement is not unavailability: it keeps PostgreSQL's code", async () => {
    await assert.rejects(database.query('selekt'), { code: '42601' });
    await assert.rejects(database.query("insert into counters values ('one', 1)"), { code: '23505' });
    await assert.rejects(database.query('select 1/0'), { code: '22012' });
  });
});

/** A message of PostgreSQL's protocol: its type, its length and its fields. */
function message(type: string, fields: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from(type), length, Buffer.from(fields, 'latin1')]);
}

/** What a session sends whose PostgreSQL is killed at the moment when it is ready. */
const READY_AND_KILLED = Buffer.concat([
  message('R', '\0\0\0\0'),
  message('Z', 'I'),
  message('E', 'SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0'),
]);

for (const several of [false, true]) {
  test(`a PostgreSQL that is killed as it accepts a connection is an outage, with ${several ? 'several servers' : 'one server'}`, async (context) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(READY_AND_KILLED));
    });
    const { port, close } = await listenOnLoopback(server);
    context.after(close);
    const host = `127.0.0.1:${port}`;
    const url = several
      ? `postgresql://tiba@${host},${host}/tiba?target_session_attrs=read-write`
      : `postgresql://tiba@${host}/tiba`;
    const killed = openDatabase({ connection: connectionTo(url), connectionsMax: 3, log });
    context.after(() => killed.close());
    const none = async (): Promise<void> => {};
    for (const attempt of [() => killed.transaction(none), () => killed.query('select 1')])
      await assert.rejects(attempt, DatabaseUnavailable);
  });
}
