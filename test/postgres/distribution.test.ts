import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import pino from 'pino';
import { parseUpdate } from '../../apps/server/src/feed/parse-update.ts';
import { listEventsToArchive } from '../../apps/server/src/postgres/archive-files.ts';
import {
  DELIVERIES as DELIVERIES_SQL,
  findDelivery,
  listDeliveries,
} from '../../apps/server/src/postgres/callback-history.ts';
import { recordResults } from '../../apps/server/src/postgres/callback-results.ts';
import {
  type Database,
  DatabaseUnavailable,
  openDatabase,
  type Query,
  type Row,
} from '../../apps/server/src/postgres/database.ts';
import { distribute, isDistributed } from '../../apps/server/src/postgres/distributed/distribution.ts';
import {
  byClient,
  databaseOfClient,
  deleteOverClients,
  eachClient,
  earliestOverClients,
  ofClient,
} from '../../apps/server/src/postgres/distributed/one-client.ts';
import { listEventDeliveries } from '../../apps/server/src/postgres/transaction-timeline.ts';
import { createTransactionUpdater } from '../../apps/server/src/transactions/transaction-updater.ts';
import { call, DELIVERIES, dataOf, ENDPOINTS, EVENTS, register } from '../callbacks/endpoints-harness.ts';
import { assertSuccess } from '../contract/assertions.ts';
import { createTestDatabase, querySql, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startHttpReceiver } from '../support/http-receiver.ts';
import { startTestService, statusUpdate, type TestService, testBanks } from '../support/service.ts';

/**
 * The statements that a distributed PostgreSQL needs are correct SQL for one PostgreSQL too. So the service runs with
 * them here: the test database has a table where the service looks for what is distributed.
 */

const CATALOG = `
create table public.pg_dist_partition (logicalrelid regclass, partmethod "char", repmodel "char");
insert into public.pg_dist_partition values ('tiba.transactions', 'h', 's')`;

let testDatabase: TestDatabase;
let service: TestService;

before(async () => {
  testDatabase = await createTestDatabase();
  await querySql(testDatabase, CATALOG);
  service = await startTestService({ database: testDatabase, rails: [] });
});
after(async () => {
  await service?.close();
  await testDatabase?.drop();
});

const updates = ['alpha', 'beta', 'alpha', 'beta'].map((clientId, index) =>
  statusUpdate({ client_id: clientId, transaction_id: `TD000000000${index}`, reference_id: `of ${clientId} ${index}` }),
);
const UNAVAILABLE = 'Error: the database cannot answer now';
const success = { status: 'SUCCESS', processed_at: '2026-11-21T04:40:00.000Z' };

interface ListedEvent {
  readonly sequence: number;
  readonly type: string;
  readonly data: { readonly transaction_id: string };
}

suite('a service on a distributed database', () => {
  test('applies a feed of several clients, and answers their status checks', async () => {
    assert.ok(service.app.database.distributed);
    const { inserted } = assertSuccess(await service.feed(updates));
    assert.equal(inserted, 4);
    const repeated = assertSuccess(await service.feed([...updates, { ...updates[0], ...success }]));
    assert.deepEqual([repeated['unchanged'], repeated['advanced']], [4, 1]);
    const taken = { ...updates[2], transaction_id: 'TD0000000009' };
    assert.equal((assertSuccess(await service.feed(taken))['conflicts'] as unknown[]).length, 1);
    const checks = [
      ['alpha', 'TD0000000000', 200],
      ['alpha', encodeURIComponent('of alpha 2'), 200],
      ['beta', 'TD0000000003', 200],
      ['beta', 'TD0000000000', 404],
      ['alpha', encodeURIComponent('of beta 1'), 404],
    ] as const;
    const tokens = { alpha: service.alpha.token, beta: service.beta.token };
    const answers = await Promise.all(
      checks.map(([client, id]) => service.get(`/api/v1/check-status/${id}`, { token: tokens[client] })),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      checks.map(([, , status]) => status),
    );
    assert.equal(answers[0]?.json.data?.['status'], 'SUCCESS');
  });

  // Regression: each call was applied again alone, so stored updates were "unchanged", and each waited for the node.
  test('fails the calls of a batch that need a node that is away, and applies the others once', async () => {
    let transactions = 0;
    const { database } = service.app;
    const halfAway: Database = {
      ...database,
      transaction: (work, options) => {
        transactions += 1;
        return database.transaction((query) => {
          const run: Query = Object.assign((sql: string, values?: readonly unknown[]) => {
            if (sql.includes(`client_id = 'beta'`)) throw new DatabaseUnavailable('the node is away', false);
            return query<never>(sql, values);
          }, query);
          return work(run);
        }, options);
      },
    };
    const updater = createTransactionUpdater({
      database: halfAway,
      expectedMs: () => 1_800_000,
      firstInquiryMs: 5_000,
      now: Date.now,
      versionFloor: () => 0,
    });
    const calls = [['alpha'], ['beta'], ['alpha', 'beta'], ['alpha']].map((clients, index) =>
      clients.map((clientId) => {
        const id = `TD100000000${index}`;
        const message = statusUpdate({ client_id: clientId, transaction_id: id, reference_id: id, ...success });
        return { line: 1, source: 'core', raw: JSON.stringify(message), update: parseUpdate(message, testBanks) };
      }),
    );
    const results = await Promise.allSettled(calls.map((call) => updater.applyBatched(call)));
    assert.deepEqual(
      results.map((result) => (result.status === 'fulfilled' ? result.value[0]?.outcome : String(result.reason))),
      ['inserted', UNAVAILABLE, UNAVAILABLE, 'inserted'],
    );
    assert.equal(transactions, 2, 'one of each client');
    await assert.rejects(updater.apply(calls.flat()), DatabaseUnavailable);
  });

  const findClient = async (own: Database, isAway: (clientId: string) => boolean): Promise<string> => {
    const sql = `select c.client_id from tiba.clients c where true ${ofClient('c')}`;
    const [client] = await own.query<{ client_id: string }>(sql);
    const clientId = client?.client_id ?? '';
    if (isAway(clientId)) throw new DatabaseUnavailable('the node is away', false);
    return clientId;
  };

  // Regression: while a node was away, the oldest record of the clients on the others was unknown.
  test('finds the oldest record of the clients whose node answers', async () => {
    const { database } = service.app;
    const dates = { alpha: new Date('2020-01-01'), beta: new Date('2021-01-01') } as Record<string, Date>;
    const oldest = (isAway: (clientId: string) => boolean): Promise<Date | null> =>
      earliestOverClients(database, async (own) => dates[await findClient(own, isAway)] ?? null);
    assert.deepEqual(await oldest(() => false), dates['alpha']);
    assert.deepEqual(await oldest((clientId) => clientId === 'alpha'), dates['beta']);
    await assert.rejects(
      oldest(() => true),
      DatabaseUnavailable,
    );
  });

  // Regression: the first client of a node that was away ended the batch, and the next ones kept their old records.
  test('deletes old records of the clients whose node answers', async () => {
    const examined: string[] = [];
    const remove = async (own: Database, isAway: (clientId: string) => boolean): Promise<number> => {
      examined.push(await findClient(own, isAway));
      return 1;
    };
    const { database } = service.app;
    const deleted = await deleteOverClients(database, 100, (own) => remove(own, (clientId) => clientId === 'alpha'));
    assert.ok(examined.includes('beta'), String(examined));
    assert.equal(deleted, examined.length);
    await assert.rejects(
      deleteOverClients(database, 100, (own) => remove(own, () => true)),
      DatabaseUnavailable,
    );
  });

  test('numbers the events of each client, and delivers callbacks about them', async (context) => {
    const receiver = await startHttpReceiver({ context });
    const { endpointId } = await register(service, { url: `${receiver.url}/callbacks` }, service.beta.token);
    await service.feed(updates.filter((_, index) => index % 2 === 1).map((update) => Object.assign(update, success)));
    const token = service.beta.token;
    const { events } = dataOf(await call(service, 'GET', EVENTS, { token })) as { events: ListedEvent[] };
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      Array.from(events.keys(), (index) => index + 1),
    );
    const succeeded = events.filter(({ type }) => type === 'disbursement.succeeded');
    assert.deepEqual(
      succeeded.map(({ data }) => data.transaction_id),
      ['TD0000000001', 'TD0000000003'],
    );
    await receiver.untilReceived(2);
    await eventually('both deliveries are recorded', async () => {
      const list = dataOf(await call(service, 'GET', `${DELIVERIES}?state=delivered`, { token }));
      return (list['deliveries'] as unknown[]).length >= 2;
    });
    for (const disabled of [true, false]) {
      const changed = await call(service, 'PATCH', `${ENDPOINTS}/${endpointId}`, { token, body: { disabled } });
      assert.equal(changed.status, 200, changed.text);
      assert.equal(dataOf(changed)['status'], disabled ? 'disabled' : 'enabled');
    }
    const body = { endpoint_id: endpointId, from: '2020-01-01T00:00:00Z', to: '2099-01-01T00:00:00Z' };
    const replayed = dataOf(await call(service, 'POST', `${DELIVERIES}/replay`, { token, body }));
    assert.deepEqual([replayed['replayed'], replayed['next_after']], [events.length, null]);
    await receiver.untilReceived(2 + events.length);
  });

  // Regression: deliveries were locked before their endpoint, and a replay locks it first: they waited for each other.
  test('locks no delivery before its endpoint when it stores a result', async () => {
    const key = { clientId: 'alpha', endpointId: (await register(service)).endpointId, sequence: 1 };
    const ofDelivery = `client_id = 'alpha' and endpoint_id = '${key.endpointId}'`;
    await querySql(
      testDatabase,
      `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, attempts)
       values ('alpha', '${key.endpointId}', 1, now() + interval '1 day', 1)`,
    );
    const times = { endedMs: performance.now(), durationMs: 1, delayMs: 1 } as const;
    const failed = { httpStatus: 500, answer: '', error: null, state: 'pending' } as const;
    const url = 'http://127.0.0.1:9/callbacks';
    const health = { succeeded: false, gone: false, firstFailureMs: times.endedMs, lastEndedMs: times.endedMs };
    const replay = new pg.Client(testDatabase.connection);
    await replay.connect();
    try {
      await replay.query('begin');
      await replay.query(`select from tiba.callback_endpoints where ${ofDelivery} for share`);
      const recording = recordResults(
        service.app.database,
        [{ ...key, ...times, ...failed, url, attempt: 1 }],
        [{ ...key, ...health, url }],
      );
      await eventually('the result waits for the endpoint', async () => {
        const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        return (await querySql(testDatabase, waiting)).length > 0;
      });
      await replay.query(`update tiba.callback_outbox set attempts = attempts where ${ofDelivery}`);
      await replay.query('commit');
      await recording;
    } finally {
      await replay.end();
    }
    const [endpoint] = await querySql(
      testDatabase,
      `select failing_since is not null as failing from tiba.callback_endpoints where ${ofDelivery}`,
    );
    assert.equal(endpoint?.['failing'], true);
    const attempts = await querySql(testDatabase, `select http_status from tiba.callback_attempts where ${ofDelivery}`);
    assert.deepEqual(attempts, [{ http_status: 500 }]);
  });
});

suite('statements of one client', () => {
  const sent: [string, unknown][] = [];
  const recording = (distributed: boolean): Database => ({
    query: (sql, _values, name) => {
      sent.push([sql, name]);
      return Promise.resolve([]);
    },
    transaction: () => Promise.reject(new Error('no transaction')),
    connections: () => ({ total: 0, idle: 0, waiting: 0 }),
    close: () => Promise.resolve(),
    distributed,
  });
  const SQL = `select from tiba.events v where sequence = 1 ${ofClient('v')}`;

  test('name their client on a distributed database only', async () => {
    const one = recording(false);
    assert.equal(databaseOfClient(one, 'alpha'), one);
    await databaseOfClient(recording(true), "o'hara").query<Row>(SQL, [], 'a name');
    assert.deepEqual(sent.pop(), [
      "select from tiba.events v where sequence = 1 and v.client_id = 'o''hara'",
      undefined,
    ]);
  });

  // Regression: a node that was away refused the deliveries of all clients, because a statement with the view asked it.
  test('read deliveries as the view has them, without the view', async () => {
    await querySql(testDatabase, `create view public.deliveries as ${DELIVERIES_SQL}`);
    const [definitions] = await querySql(
      testDatabase,
      `select pg_get_viewdef('public.deliveries') as marked, pg_get_viewdef('tiba.callback_deliveries') as view`,
    );
    assert.equal(definitions?.['marked'], definitions?.['view']);
    const key = { clientId: 'alpha', endpointId: 'ep_1', sequence: 1 };
    await findDelivery(recording(true), key);
    await listDeliveries(recording(true), 'alpha', { endpointId: null, state: null, after: null, limit: 1 });
    await listEventDeliveries(recording(true), 'alpha', [1]);
    for (const [sql] of sent.splice(0)) {
      assert.match(sql, /l\.client_id = 'alpha'/);
      assert.doesNotMatch(sql, /tiba\.callback_deliveries/);
    }
  });

  // Regression: each page of a client's events asked all nodes while they were archived.
  test('read the events to archive, with the transactions that they ended', async () => {
    await listEventsToArchive(recording(true), { clientId: 'alpha', archivedUpTo: 0 }, 1);
    const [[sql]] = sent.splice(0) as [[string, unknown]];
    assert.match(sql, /e\.client_id = 'alpha'[^]* t\.client_id = 'alpha'/);
  });

  test('fail for the clients of one node only', async () => {
    const done: string[] = [];
    const items = ['alpha', 'beta', 'alpha', 'gamma'].map((clientId, index) => ({ clientId, index }));
    const work = async (_: Database, own: readonly (typeof items)[number][]): Promise<void> => {
      const [first] = own;
      if (first?.clientId === 'alpha') throw new Error('the node is away');
      await Promise.resolve();
      done.push(own.map(({ clientId, index }) => `${clientId} ${index}`).join());
    };
    await assert.rejects(byClient(recording(true), items, work), /the node is away/);
    assert.deepEqual(done, ['beta 1', 'gamma 3']);
    assert.equal((await Array.fromAsync(eachClient(recording(false)))).length, 1);
  });
});

/** What `distribute` calls of Citus: here it only notes which tables are distributed. */
const CITUS = `
create table public.pg_dist_partition (logicalrelid regclass, partmethod "char", repmodel "char");
create table public.pg_dist_node (groupid int, isactive boolean);
insert into public.pg_dist_node values (0, true), (1, true);
insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
values (99999, 'citus', 10, 'public'::regnamespace, false, '13.2-1');
create function public.create_reference_table(name text) returns void language sql
  as $$ insert into public.pg_dist_partition values (name::regclass, 'n', 't') $$;
create function public.create_distributed_table(name text, key text, colocate_with text) returns void language sql
  as $$ insert into public.pg_dist_partition values (name::regclass, 'h', 's') $$`;

const FOREIGN_KEYS = `
select relname as source from pg_constraint join pg_class c on c.oid = conrelid
 where contype = 'f' and confrelid in ('tiba.clients'::regclass, 'tiba.restores'::regclass) order by 1`;

suite('distributing', () => {
  // Regression: Citus took over the tables of bulk validations, and then refused to store their results.
  test('frees the tables that stay on the coordinator, and changes nothing when it is repeated', async () => {
    const own = await createTestDatabase();
    const database = openDatabase({ connection: own.connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
    try {
      await querySql(own, CITUS);
      await querySql(
        own,
        `insert into tiba.callback_outbox_ranges (client_id, endpoint_id, first_sequence, last_sequence)
         values ('alpha', 'ep_1', 1, 3), ('beta', 'ep_2', 7, 7)`,
      );
      const tables: string[] = [];
      await distribute(database, (table) => tables.push(table));
      await distribute(database, assert.fail);
      assert.equal(await isDistributed(database), true);
      assert.equal(tables.length, 13);
      const deliveries = await querySql(
        own,
        "select client_id || ' ' || sequence as key from tiba.callback_outbox order by 1",
      );
      assert.deepEqual(
        deliveries.map(({ key }) => key),
        ['alpha 1', 'alpha 2', 'alpha 3', 'beta 7'],
      );
      assert.deepEqual(await querySql(own, 'select from tiba.callback_outbox_ranges'), []);
      const sources = (await querySql(own, FOREIGN_KEYS)).map(({ source }) => source);
      assert.deepEqual(sources, ['callback_endpoints', 'client_secret_uses', 'event_sequences']);
    } finally {
      await database.close();
      await own.drop();
    }
  });

  test('needs Citus, and says what to do', async () => {
    const database = openDatabase({
      connection: testDatabase.connection,
      connectionsMax: 1,
      log: pino({ level: 'silent' }),
    });
    try {
      assert.equal(await isDistributed(database), true);
      await querySql(testDatabase, 'drop table public.pg_dist_partition');
      assert.equal(await isDistributed(database), false);
      await assert.rejects(
        distribute(database, assert.fail),
        /no extension citus\. Add citus to shared_preload_libraries on each node, run create extension citus/,
      );
    } finally {
      await database.close();
    }
  });
});
