import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import type { Database, Query } from '../../apps/server/src/postgres/database.ts';
import { createLease } from '../../apps/server/src/postgres/leases.ts';
import { scanCallbacks } from '../../apps/server/src/postgres/retention/callbacks.ts';
import { findOldestEvent, scanEvents } from '../../apps/server/src/postgres/retention/events.ts';
import { deleteStatusMessages } from '../../apps/server/src/postgres/retention/status-messages.ts';
import { scanTransactions } from '../../apps/server/src/postgres/retention/transactions.ts';
import { listStatusUpdates } from '../../apps/server/src/postgres/status-updates.ts';
import {
  addOwnClient,
  call,
  DELIVERIES,
  dataOf,
  EVENTS,
  feedSuccesses,
  openSql,
  register,
} from '../callbacks/endpoints-harness.ts';
import { assertError } from '../contract/assertions.ts';
import { createFreshUpdater } from '../feed/fresh-updater.ts';
import { daysEarlier } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startHttpReceiver } from '../support/http-receiver.ts';
import { startTestService, statusUpdate, type TestClient, type TestService } from '../support/service.ts';
import { age, daysAgo, scanBatches, sequences, WITHOUT_RETENTION } from './retention-harness.ts';

/** What is deleted after its retention time, and what stays because something still needs it. */

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
// What is deleted is of all clients, so nothing old may be left of the test before.
afterEach(async () => {
  await eventBatches(1_000);
  await transactionBatches(1_000);
});
before(async () => {
  service = await startTestService({ rails: [], settings: WITHOUT_RETENTION });
  sql = await openSql(service);
});
after(async () => {
  await sql?.end();
  await service?.close();
});

/** Deletes batch by batch; returns the size of each. */
async function batches(deleteBatch: () => Promise<number>): Promise<number[]> {
  const sizes: number[] = [];
  for (let size = await deleteBatch(); size > 0; size = await deleteBatch()) sizes.push(size);
  return sizes;
}

const eventBatches = (limit: number): Promise<number[]> => scanBatches(scanEvents(service.app.database, limit));
const transactionBatches = (limit: number): Promise<number[]> =>
  scanBatches(scanTransactions(service.app.database, limit));

const feedEvents = (client: TestClient, count: number): Promise<string[]> =>
  feedSuccesses(service, count, { client_id: client.clientId });

test('messages go, oldest first and batch by batch; those of a transaction in PROCESS stay', async () => {
  const client = await addOwnClient(service);
  const { clientId } = client;
  const open = { client_id: clientId, transaction_id: 'RT0000000001', reference_id: 'RT1' };
  assert.equal((await service.feed(statusUpdate({ ...open, created_at: '2026-01-01T00:00:00Z' }))).status, 200);
  await eventually('it is overdue', async () => (await sequences(sql, client)).length === 1);
  const [ended = ''] = await feedEvents(client, 1);
  await feedEvents(client, 1);
  await age(sql, client);
  await feedEvents(client, 1);

  const { database } = service.app;
  const sizes = await batches(() => deleteStatusMessages(database, daysAgo(400), 1));
  // The second message about the first transaction is from the clock.
  assert.deepEqual(sizes, [1, 1]);
  const rawOf = async (transactionId: string): Promise<unknown[]> =>
    (await listStatusUpdates(database, { clientId, transactionId }, 10)).map(({ outcome, raw }) => [
      outcome,
      raw !== null,
    ]);
  assert.deepEqual(await rawOf(open.transaction_id), [
    ['inserted', true],
    ['overdue', true],
  ]);
  assert.deepEqual(await rawOf(ended), [['inserted', false]]);
});

const IN_PROCESS_FOR_LONG = {
  'is not overdue yet': { expectedBy: 'tomorrow', overdueSince: null },
  'became overdue yesterday': { expectedBy: 'yesterday', overdueSince: 'yesterday' },
};

for (const [index, [state, { expectedBy, overdueSince }]] of Object.entries(IN_PROCESS_FOR_LONG).entries()) {
  /** Regression: only what had been overdue for long enough was kept, and a bank may take longer than messages stay. */
  test(`the messages of a transaction in PROCESS stay when it ${state}`, async () => {
    const client = await addOwnClient(service);
    const { clientId } = client;
    // Of now: the service must not find it overdue meanwhile, which is a status update as well.
    const created_at = new Date().toISOString();
    const id = { client_id: clientId, transaction_id: `RP000000000${index}`, reference_id: 'RP', created_at };
    await service.feed(statusUpdate(id));
    await service.feed(statusUpdate({ ...id, external_id: '4711' }));
    await age(sql, client);
    await sql(
      `update tiba.transactions
          set created_at = ${daysEarlier('created_at', 500)}, expected_by = $2, overdue_since = $3
        where client_id = $1`,
      [clientId, expectedBy, overdueSince],
    );
    const { database } = service.app;
    assert.deepEqual(await batches(() => deleteStatusMessages(database, daysAgo(400), 10)), []);
    const updates = await listStatusUpdates(database, { clientId, transactionId: id.transaction_id }, 10);
    assert.deepEqual(
      updates.map(({ outcome, raw }) => [outcome, raw !== null]),
      [
        ['inserted', true],
        ['unchanged', true],
      ],
    );
    await service.feed(statusUpdate({ ...id, status: 'SUCCESS' }));
    assert.deepEqual(await batches(() => deleteStatusMessages(database, daysAgo(400), 10)), [2]);
  });
}

/** Regression: it was found by its creation time only, or when it was overdue. */
test('the messages of a transaction in PROCESS stay when its core says that it was created in two days', async () => {
  const client = await addOwnClient(service);
  const { clientId } = client;
  const key = { clientId, transactionId: 'RA0000000001' };
  const created_at = daysAgo(-2).toISOString();
  const ahead = { client_id: clientId, transaction_id: key.transactionId, reference_id: 'RA', created_at };
  const { json } = await service.feed(statusUpdate(ahead));
  const reason = 'created_at: more than 12 hours after the update arrived; that time is stored instead';
  assert.deepEqual(json.data?.['differences'], [{ line: 1, transaction_id: key.transactionId, reason }]);
  await sql(`update tiba.status_messages set received_at = ${daysEarlier('received_at', 1)} where client_id = $1`, [
    clientId,
  ]);
  const { database } = service.app;
  assert.deepEqual(await batches(() => deleteStatusMessages(database, daysAgo(1 / 24), 10)), []);
  const [update, ...others] = await listStatusUpdates(database, key, 10);
  assert.deepEqual([update?.outcome, update?.reason, others], ['inserted', reason, []]);
  assert.ok(update?.raw?.includes(created_at), 'what the core said is kept');
  await service.feed(statusUpdate({ ...ahead, status: 'SUCCESS' }));
  assert.deepEqual(await batches(() => deleteStatusMessages(database, daysAgo(1 / 24), 10)), [1]);
});

test('events go, except for one with an open delivery; a reader before them gets 410 and goes on', async () => {
  const client = await addOwnClient(service);
  const receiver = await startHttpReceiver();
  const { endpointId } = await register(service, { url: receiver.url }, client.token);
  await feedEvents(client, 6);
  await eventually('all are delivered', async () => {
    return (
      (await sql(`select from tiba.callback_deliveries where endpoint_id = $1 and state = 'pending'`, [endpointId]))
        .length === 0
    );
  });
  await receiver.close();
  const body = { client_id: client.clientId };
  const replayed = await call(service, 'POST', `${DELIVERIES}/${endpointId}-2/replay`, {
    token: client.token,
    body: {},
  });
  assert.equal(dataOf(replayed)['state'], 'pending', JSON.stringify(body));
  await age(sql, client);
  await feedEvents(client, 2);

  const { database } = service.app;
  const sizes = await eventBatches(2);
  assert.deepEqual([sizes.reduce((sum, size) => sum + size, 0), Math.max(...sizes)], [5, 2]);
  assert.deepEqual(await sequences(sql, client), [2, 7, 8]);
  assert.deepEqual(
    (await sql('select distinct sequence::int from tiba.callback_attempts where endpoint_id = $1', [endpointId]))
      .map(({ sequence }) => sequence)
      .filter((sequence) => Number(sequence) <= 6),
    [2],
  );

  const read = (after: number) => call(service, 'GET', `${EVENTS}?after=${after}`, { token: client.token });
  const gone = await read(1);
  assertError(gone, 'CURSOR_GONE');
  assert.equal(gone.headers.get('link'), '</api/v1/events?after=6>; rel="next"');
  assert.match(gone.text, /Continue with after=6/);
  for (const start of [0, 6]) {
    const events = dataOf(await read(start))['events'] as { sequence: number }[];
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      [7, 8],
    );
  }
  assert.ok(((await findOldestEvent(database))?.getTime() ?? 0) < daysAgo(400).getTime());

  // The delivery was open only for so long.
  await sql('delete from tiba.callback_outbox where endpoint_id = $1', [endpointId]);
  assert.deepEqual(await eventBatches(2), [1]);
});

/** Regression: the event with the latest time before the retention time took all events before it along. */
test('one event with a time of 1970 removes no recent event', async () => {
  const client = await addOwnClient(service);
  await feedEvents(client, 5);
  const setTime = (time: string, numbers: readonly number[]): Promise<unknown> =>
    sql(`update tiba.events set occurred_at = ${time} where client_id = $1 and sequence = any ($2)`, [
      client.clientId,
      numbers,
    ]);
  await setTime(`'1970-01-01T00:00:00Z'`, [3]);
  assert.deepEqual(await eventBatches(1_000), []);
  assert.deepEqual(await sequences(sql, client), [1, 2, 3, 4, 5]);
  await setTime(`now() - interval '500 days'`, [1, 2]);
  assert.deepEqual(await eventBatches(1_000), [3]);
  assert.deepEqual(await sequences(sql, client), [4, 5]);
});

for (const table of ['callback_endpoints', 'clients']) {
  /** Regression: such deliveries never end, and their events were examined again for each batch. */
  test(`events go with their pending deliveries when those are disabled in ${table}`, async () => {
    const client = await addOwnClient(service);
    const own = [client.clientId];
    const { endpointId } = await register(service, { url: 'http://127.0.0.1:9/' }, client.token);
    await feedEvents(client, 3);
    await age(sql, client);
    await sql('update tiba.events set occurred_at = now() where client_id = $1 and sequence = 3', own);
    assert.deepEqual(await eventBatches(2), []);
    const reason = table === 'clients' ? '' : `, disabled_reason = 'failing'`;
    await sql(`update tiba.${table} set disabled_at = now() ${reason} where client_id = $1`, own);
    assert.deepEqual(await eventBatches(2), [2]);
    assert.deepEqual(
      await sql('select sequence::int from tiba.callback_deliveries where endpoint_id = $1', [endpointId]),
      [{ sequence: 3 }],
    );
  });
}

test('deliveries and attempts go before their events', async () => {
  const client = await addOwnClient(service);
  const receiver = await startHttpReceiver();
  const { endpointId } = await register(service, { url: receiver.url }, client.token);
  await feedEvents(client, 3);
  const delivered = async (): Promise<number> =>
    (await sql(`select from tiba.callback_deliveries where endpoint_id = $1 and state = 'delivered'`, [endpointId]))
      .length;
  await eventually('all are delivered', async () => (await delivered()) === 3);
  await age(sql, client);
  await feedEvents(client, 1);
  await eventually('the last is delivered', async () => (await delivered()) === 4);
  await receiver.close();
  assert.deepEqual(await scanBatches(scanCallbacks(service.app.database, 2)), [2, 1]);
  assert.equal(await delivered(), 1);
  assert.deepEqual(await sequences(sql, client), [1, 2, 3, 4]);
});

test('final transactions go after their events; a process that died in between changes nothing', async () => {
  const client = await addOwnClient(service);
  const { clientId } = client;
  const open = { client_id: clientId, transaction_id: 'RT0000000002', reference_id: 'RT2' };
  assert.equal((await service.feed(statusUpdate(open))).status, 200);
  const [first = ''] = await feedEvents(client, 3);
  const again = { client_id: clientId, transaction_id: first, status: 'SUCCESS' };
  assert.equal((await service.feed(again)).status, 200);
  await age(sql, client);
  const [recent] = await feedEvents(client, 1);

  assert.deepEqual(await transactionBatches(2), []);
  // As a process leaves it that dies before it deletes the events.
  await sql('update tiba.event_sequences set removed_up_to = 3 where client_id = $1', [clientId]);
  await eventBatches(100);
  // A batch may also examine old transactions of other tests, which stay.
  const sizes = await transactionBatches(2);
  assert.deepEqual([sizes.reduce((sum, size) => sum + size, 0), Math.max(...sizes)], [3, 2]);
  assert.deepEqual(
    (await sql('select transaction_id from tiba.transactions where client_id = $1 order by 1', [clientId])).map(
      ({ transaction_id: id }) => id,
    ),
    [open.transaction_id, recent],
  );
  assert.deepEqual(await sql('select from tiba.other_status_updates where transaction_id = $1', [first]), []);
});

test('an event whose callback is replayed while a batch begins stays, and so does one that is locked', async () => {
  const client = await addOwnClient(service);
  const { clientId } = client;
  const { endpointId } = await register(service, { kinds: ['disbursement.overdue'] }, client.token);
  await feedEvents(client, 4);
  await age(sql, client);
  await feedEvents(client, 1);
  const { database } = service.app;
  const replaying: Database = {
    ...database,
    async transaction(work, options) {
      await sql(
        `insert into tiba.callback_outbox (client_id, endpoint_id, sequence) values ($1, $2, 2)
         on conflict do nothing`,
        [clientId, endpointId],
      );
      return database.transaction(work, options);
    },
  };
  let nowMs = 0;
  const events = scanEvents(replaying, 10, () => nowMs);
  await database.transaction(async (query) => {
    await query('select from tiba.events where client_id = $1 and sequence = 3 for key share', [clientId]);
    assert.deepEqual(await scanBatches(events), [2]);
  });
  assert.deepEqual(await sequences(sql, client), [2, 3, 5]);
  await sql('delete from tiba.callback_outbox where endpoint_id = $1', [endpointId]);
  nowMs += 60 * 60 * 1_000;
  assert.deepEqual(await scanBatches(events), [1]);
  assert.deepEqual(await sequences(sql, client), [2, 5]);
  await sql('delete from tiba.callback_outbox where endpoint_id = $1', [endpointId]);
});

test('a transaction that is being changed stays with its status updates', async () => {
  const client = await addOwnClient(service);
  const ids = await feedEvents(client, 3);
  for (const id of ids) {
    const again = { client_id: client.clientId, transaction_id: id, status: 'SUCCESS' };
    assert.equal((await service.feed(again)).status, 200);
  }
  await age(sql, client);
  await sql('delete from tiba.events where client_id = $1', [client.clientId]);
  const { database } = service.app;
  let nowMs = 0;
  const transactions = scanTransactions(database, 10, () => nowMs);
  await database.transaction(async (query) => {
    await query(`update tiba.transactions set account_name = 'X' where client_id = $1 and transaction_id = $2`, [
      client.clientId,
      ids[1],
    ]);
    assert.deepEqual(await scanBatches(transactions), [2]);
  });
  const left = 'select transaction_id from tiba.transactions where client_id = $1';
  const updates = 'select transaction_id from tiba.other_status_updates where client_id = $1';
  for (const found of [left, updates])
    assert.deepEqual(await sql(found, [client.clientId]), [{ transaction_id: ids[1] }]);
  nowMs += 60 * 60 * 1_000;
  assert.deepEqual(await scanBatches(transactions), [1]);
  for (const found of [left, updates]) assert.deepEqual(await sql(found, [client.clientId]), []);
});

suite('a reference that a feed finds taken by a transaction that the retention may delete', () => {
  /** Feeds another transaction with the reference. `meanwhile` runs before its commit, or before it locks the holder. */
  async function conflictWhile(point: 'commit' | 'lock', meanwhile: () => Promise<unknown>) {
    const client = await addOwnClient(service);
    const { clientId } = client;
    await feedEvents(client, 1);
    await age(sql, client);
    await sql('delete from tiba.events where client_id = $1', [clientId]);
    const { database } = service.app;
    const over: Database = {
      ...database,
      transaction: (work, options) =>
        database.transaction(async (query) => {
          const run = async (...args: Parameters<Query>) => {
            const answer = await query(...args);
            if (point === 'lock' && args[0].includes('t.reference_id = k.reference_id')) await meanwhile();
            return answer as never;
          };
          const result = await work(Object.assign(run, query));
          if (point === 'commit') await meanwhile();
          return result;
        }, options),
    };
    const [{ reference_id: reference } = {}] = await sql(
      'select reference_id from tiba.transactions where client_id = $1',
      [clientId],
    );
    const other = statusUpdate({ client_id: clientId, transaction_id: 'RT0000000003', reference_id: reference });
    const { applied } = await createFreshUpdater(over).apply(other);
    return { outcome: applied[0]?.outcome, count: (table: string) => countOf(table, clientId) };
  }

  const countOf = async (table: string, clientId: string): Promise<number> =>
    (await sql(`select from tiba.${table} where client_id = $1`, [clientId])).length;

  /** Regression: the conflict was stored with a transaction that was gone, and stayed for good. */
  test('is a conflict, and the transaction stays with it; both go together later', async () => {
    const { outcome, count } = await conflictWhile('commit', () => transactionBatches(10));
    assert.equal(outcome, 'conflict');
    assert.deepEqual([await count('transactions'), await count('other_status_updates')], [1, 1]);
    assert.deepEqual(await transactionBatches(10), [1]);
    assert.deepEqual([await count('transactions'), await count('other_status_updates')], [0, 0]);
  });

  test('is free when the transaction was deleted first', async () => {
    const { outcome, count } = await conflictWhile('lock', () => transactionBatches(10));
    assert.equal(outcome, 'inserted');
    assert.deepEqual([await count('transactions'), await count('other_status_updates')], [1, 0]);
  });
});

test('one process holds a lease, and another takes it when it has ended', async () => {
  const { database } = service.app;
  const [one, other] = [createLease(database, 'test', 3_600_000), createLease(database, 'test', 3_600_000)];
  assert.deepEqual([await one.hold(), await other.hold(), await one.hold()], [true, false, true]);
  await sql(`update tiba.leases set ends_at = now() where name = 'test'`);
  assert.deepEqual([await other.hold(), await one.hold()], [true, false]);
});
