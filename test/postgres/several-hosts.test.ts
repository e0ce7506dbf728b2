import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import pino from 'pino';
import { type Database, DatabaseUnavailable, openDatabase } from '../../apps/server/src/postgres/database.ts';
import { describeDatabaseUrl, parseDatabaseUrl } from '../../apps/server/src/postgres/database-url.ts';
import { listen } from '../../apps/server/src/postgres/notifications.ts';
import { connectionTo } from '../../apps/server/src/postgres/primary-client.ts';
import { type PostgresProxy, startPostgresProxy } from '../../campaign/random/postgres-proxy.ts';
import { type PostgresServer, startPostgresServer } from '../fault-injection/postgres-server.ts';
import { eventually } from '../support/eventually.ts';

const log = pino({ level: 'silent' });

suite('DATABASE_URL', () => {
  test('with several hosts', () => {
    const value =
      'postgresql://tiba:p%40ss@db1:5432,db2,[::1]:6432/tiba?sslmode=require&target_session_attrs=read-write';
    const rest = '/tiba?sslmode=require&target_session_attrs=read-write';
    assert.deepEqual(parseDatabaseUrl(value), {
      urls: [
        `postgresql://tiba:p%40ss@db1:5432${rest}`,
        `postgresql://tiba:p%40ss@db2${rest}`,
        `postgresql://tiba:p%40ss@[::1]:6432${rest}`,
      ],
      sessionAttributes: 'read-write',
    });
    assert.equal(
      describeDatabaseUrl(`${value}&password=hunter2`),
      'postgresql://tiba@db1:5432,db2,[::1]:6432/tiba?target_session_attrs=read-write',
    );
  });

  test('with one host is used as it is', () => {
    const value = 'postgres://tiba@localhost/tiba?host=/run/postgresql';
    assert.deepEqual(parseDatabaseUrl(value), { urls: [value], sessionAttributes: null });
  });

  test('that cannot be used is refused with what to write instead, and without its password', () => {
    const refused: Readonly<Record<string, RegExp>> = {
      'postgresql://t:hunter2@db1,db2/tiba': /target_session_attrs=read-write: of several hosts, only one/,
      'postgresql://t:hunter2@db1,db2/tiba?target_session_attrs=any': /read-write or primary: Tiba writes/,
      'postgresql://t:hunter2@db1/tiba?target_session_attrs=standby': /read-write or primary: Tiba writes/,
      'postgresql://t:hunter2@db1,/tiba?target_session_attrs=read-write': /without an empty host/,
      'postgresql:///tiba?host=db1,db2&password=hunter2': /all its hosts before the path/,
      'postgresql://t:hunter2@x/tiba?host=db1,db2': /all its hosts before the path/,
      'postgresql://t:hunter2@db1:x,db2/tiba?target_session_attrs=read-write': /starts with postgres:/,
      'host=db1,db2 password=hunter2 dbname=tiba': /starts with postgres:/,
    };
    for (const [value, message] of Object.entries(refused)) {
      assert.throws(
        () => parseDatabaseUrl(value),
        (error) => {
          assert.match(String(error), message, value);
          assert.doesNotMatch(String(error), /hunter2/);
          return true;
        },
      );
    }
  });
});

suite('two servers, of which one accepts writes', () => {
  const servers: PostgresServer[] = [];
  const proxies: PostgresProxy[] = [];
  let url: string;
  before(async () => {
    servers.push(...(await Promise.all([startPostgresServer(), startPostgresServer()])));
    for (const server of servers) {
      await server.query('create table which (name text)');
      proxies.push(await startPostgresProxy(server.socketPath));
    }
    await servers[0]?.query("insert into which values ('first')");
    await servers[1]?.query("insert into which values ('second')");
    const hosts = proxies.map(({ port }) => `127.0.0.1:${port}`).join(',');
    url = `postgresql://tiba@${hosts}/tiba?sslmode=disable&target_session_attrs=read-write`;
  });
  after(async () => {
    for (const proxy of proxies) await proxy.close();
    for (const server of servers) await server.remove();
  });

  /** As a failover looks to clients: the one no longer accepts writes, and then the other one does. */
  async function moveTo(number: 0 | 1): Promise<void> {
    await setReadOnly(servers[1 - number], true);
    await setReadOnly(servers[number], false);
  }

  const open = (context: TestContext): Database => {
    const database = openDatabase({ connection: connectionTo(url), connectionsMax: 4, log });
    context.after(() => database.close());
    return database;
  };
  const whichOf = async (database: Database): Promise<string | undefined> => {
    const read = () => database.query<{ name: string }>('select name from which');
    const found = await Promise.all([read(), read(), read()]);
    const names = new Set(found.map(([row]) => row?.name));
    assert.equal(names.size, 1);
    return [...names][0];
  };

  test('all connections lead to it, and follow it after a write was refused', async (context) => {
    for (const [number, name] of ['first', 'second', 'first'].entries()) {
      await moveTo((number % 2) as 0 | 1);
      const database = open(context);
      assert.equal(await whichOf(database), name);
    }
    const database = open(context);
    assert.equal(await whichOf(database), 'first');
    await moveTo(1);
    const write = () => database.query('delete from which where false');
    await eventually('the pool follows', async () => {
      await write().catch((error: unknown) => assert.ok(error instanceof DatabaseUnavailable, String(error)));
      return (await whichOf(database).catch(() => null)) === 'second';
    });
  });

  test('the connection that listens follows it too', async (context) => {
    await moveTo(0);
    let changes = 0;
    const channels = { which_changed: async () => void (changes += 1) };
    const notifications = await listen({ connection: connectionTo(url), channels, log });
    context.after(() => notifications.close());
    await moveTo(1);
    proxies[0]?.cut();
    await eventually('it listens again', () => changes === 2 && notifications.isCurrent());
    await servers[1]?.query('notify which_changed');
    await eventually('the notification arrives', () => changes === 3);
  });

  test('while none accepts writes, the error names each server and why', async (context) => {
    await Promise.all(servers.map((server) => setReadOnly(server, true)));
    const error = await open(context)
      .query('select')
      .catch((caught: unknown) => caught);
    assert.ok(error instanceof DatabaseUnavailable);
    const ports = proxies.map(({ port }) => `127\\.0\\.0\\.1:${port}: it accepts no writes`);
    assert.match(String(error.cause), new RegExp(`no server accepts writes: .*${ports.join('.*')}`));
  });
});

async function setReadOnly(server: PostgresServer | undefined, readOnly: boolean): Promise<void> {
  await server?.query(`alter system set default_transaction_read_only = ${readOnly ? 'on' : 'off'}`);
  await server?.query('select pg_reload_conf()');
  await eventually('new connections see the setting', async () => {
    const rows = await server?.query<{ value: string }>("select current_setting('transaction_read_only') as value");
    return rows?.[0]?.value === (readOnly ? 'on' : 'off');
  });
}
