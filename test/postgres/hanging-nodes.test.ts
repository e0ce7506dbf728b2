import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, suite, test } from 'node:test';
import pg from 'pg';
import pino from 'pino';
import {
  type Database,
  DatabaseUnavailable,
  type HangingNodes,
  openDatabase,
} from '../../apps/server/src/postgres/database.ts';
import { watchHangingNodes } from '../../apps/server/src/postgres/distributed/hanging-nodes.ts';
import {
  byClient,
  databaseOfClient,
  guarded,
  ofClient,
  queryOverClients,
} from '../../apps/server/src/postgres/distributed/one-client.ts';
import { createTestDatabase, querySql, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

/**
 * What Citus says about its nodes, on one PostgreSQL: the rows of alpha are on node 1, those of beta on node 2. A node
 * hangs while the test holds the advisory lock with its number, which a check of the node then waits for.
 */
const CITUS = `
insert into tiba.clients (client_id, name, secret_hash, scopes)
values ('alpha', 'Alpha', '', '{}'), ('beta', 'Beta', '', '{}');
create table public.pg_dist_shard_placement (shardid bigint, nodename text, nodeport bigint);
insert into public.pg_dist_shard_placement values (101, 'node', 1), (102, 'node', 2);
create function public.get_shard_id_for_distribution_column(name text, value text) returns bigint language sql
  as $$ select case value when 'alpha' then 101 else 102 end $$;
create table public.checks (port int);
create function public.citus_check_connection_to_node(name text, port int) returns bool language plpgsql as $$ begin
  insert into public.checks values (port);
  perform pg_advisory_xact_lock_shared(port);
  return true;
end $$`;

const silent = pino({ level: 'silent' });
const STATEMENT_ABOUT_ALPHA = 'select pg_advisory_xact_lock_shared(1)';

let testDatabase: TestDatabase;
let node: pg.Client;
let nodes: HangingNodes;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  await querySql(testDatabase, CITUS);
  node = new pg.Client(testDatabase.connection);
  await node.connect();
});
after(async () => {
  await node?.end();
  await testDatabase?.drop();
});
beforeEach(async () => {
  // The service's own deadlines: what waits for a node fails after 1.5 s.
  const { connectionString } = testDatabase.connection;
  const open = (): Database => openDatabase({ connection: { connectionString }, connectionsMax: 2, log: silent });
  nodes = watchHangingNodes(open(), silent);
  database = { ...open(), distributed: true, hangingNodes: nodes };
  await querySql(testDatabase, 'delete from public.checks');
});
// Most tests leave node 1 hanging: it keeps no process from closing.
afterEach(async () => {
  await nodes.close();
  await database.close();
  await node.query('select pg_advisory_unlock_all()');
});

const unavailable = (error: unknown): boolean => error instanceof DatabaseUnavailable;
const checks = async (): Promise<number> =>
  Number((await querySql(testDatabase, 'select count(*) from public.checks'))[0]?.['count']);

async function hang(): Promise<void> {
  await node.query('select pg_advisory_lock(1)');
  await assert.rejects(databaseOfClient(database, 'alpha').query(STATEMENT_ABOUT_ALPHA), unavailable);
  await eventually('the node is checked', () => nodes.any());
}

suite('a node that hangs', () => {
  // Regression: statements about its clients held all connections until their deadlines, and those of others failed.
  test('has its own clients refused without a statement, and delays no others', async () => {
    await hang();
    let statements = 0;
    const work = async (): Promise<string> => {
      statements += 1;
      return 'done';
    };
    await assert.rejects(guarded(database, 'alpha', work), unavailable);
    await assert.rejects(
      databaseOfClient(database, 'alpha').transaction(async () => work()),
      unavailable,
    );
    assert.equal(statements, 0);
    assert.equal(await guarded(database, 'beta', work), 'done');

    const done: string[] = [];
    const items = ['alpha', 'beta'].map((clientId) => ({ clientId }));
    const all = byClient(database, items, async (own, [item]) => {
      await own.query('select 1');
      done.push(item?.clientId ?? '');
    });
    await assert.rejects(all, unavailable);
    assert.deepEqual(done, ['beta']);
  });

  test('is left out of what is read of all clients', async () => {
    await hang();
    const texts: string[] = [];
    const recording: Database = {
      ...database,
      query(sql, values, name) {
        texts.push(sql);
        return database.query(sql, values, name);
      },
    };
    const rows = await queryOverClients(
      recording,
      `select c.client_id from tiba.clients c where true ${ofClient('c')}`,
    );
    assert.deepEqual(rows, [{ client_id: 'beta' }]);
    // No statement goes to all nodes.
    assert.ok(texts.every((sql) => !sql.includes(ofClient('c'))));
  });

  test('serves its clients again when it answers', async () => {
    await hang();
    await assert.rejects(
      guarded(database, 'alpha', async () => {}),
      unavailable,
    );
    await node.query('select pg_advisory_unlock(1)');
    await eventually('it answers', () => !nodes.any());
    assert.equal(await guarded(database, 'alpha', async () => 'done'), 'done');
  });
});

test('a statement that reaches its deadline at a node that answers refuses no client', async () => {
  await node.query('select pg_advisory_lock(7)');
  const waiting = databaseOfClient(database, 'alpha').query('select pg_advisory_xact_lock_shared(7)');
  await assert.rejects(waiting, unavailable);
  await eventually('the node was checked', async () => (await checks()) > 0 && !nodes.any());
  assert.equal(await guarded(database, 'alpha', async () => 'done'), 'done');
});

test('an error that is no deadline checks no node', async () => {
  await assert.rejects(databaseOfClient(database, 'alpha').query('select 1 / 0'), /division by zero/);
  assert.equal(nodes.any(), false);
  assert.equal(await checks(), 0);
});
