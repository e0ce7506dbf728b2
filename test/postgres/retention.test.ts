import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import { createLease } from '../../apps/server/src/postgres/leases.ts';
import { scanCallbacks } from '../../apps/server/src/postgres/retention/callbacks.ts';
import { findOldestEvent, scanEvents } from '../../apps/server/src/postgres/retention/events.ts';
import type { RetentionScan } from '../../apps/server/src/postgres/retention/scan.ts';
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
import { eventually } from '../support/eventually.ts';
import { startHttpReceiver } from '../support/http-receiver.ts';
import { startTestService, statusUpdate, type TestClient, type TestService } from '../support/service.ts';

/** What is deleted after its retention time, and what stays because something still needs it. */

const DAY_MS = 24 * 60 * 60 * 1_000;

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
// What is deleted is of all clients, so nothing old may be left of the test before.
afterEach(async () => {
  await eventBatches(1_000);
  await transactionBatches(1_000);
});
before(async () => {
  service = await startTestService({ rails: [] });
  sql = await openSql(service);
});
after(async () => {
  await sql?.end();
  await service?.close();
});

const daysAgo = (days: number): Date => new Date(Date.now() - days * DAY_MS);

/** Deletes batch by batch; returns the size of each. */
async function batches(deleteBatch: () => Promise<number>): Promise<number[]> {
  const sizes: number[] = [];
  for (let size = await deleteBatch(); size > 0; size = await deleteBatch()) sizes.push(size);
  return sizes;
}

/** Deletes until nothing is left to examine; returns the sizes of batches that deleted something. */
async function scanBatches(scan: RetentionScan): Promise<number[]> {
  const sizes: number[] = [];
  do {
    const size = await scan.deleteBatch(daysAgo(400));
    if (size > 0) sizes.push(size);
  } while (scan.hasMore());
  return sizes;
}
const eventBatches = (limit: number): Promise<number[]> => scanBatches(scanEvents(service.app.database, limit));
const transactionBatches = (limit: number): Promise<number[]> =>
  scanBatches(scanTransactions(service.app.database, limit));

/** As if everything of the client had happened 500 days ago. */
async function age({ clientId }: TestClient): Promise<void> {
  for (const change of [
    `events set occurred_at = occurred_at - interval '500 days'`,
    `callback_attempts set started_at = started_at - interval '500 days'`,
    `callback_outbox set ended_at = ended_at - interval '500 days'`,
    `transactions set processed_at = processed_at - interval '500 days',
                      overdue_since = overdue_since - interval '500 days'`,
    `status_messages set received_at = received_at - interval '500 days'`,
  ]) {
    await sql(`update tiba.${change} where client_id = $1`, [clientId]);
  }
}

const feedEvents = (client: TestClient, count: number): Promise<string[]> =>
  feedSuccesses(service, count, { client_id: client.clientId });

const sequences = async ({ clientId }: TestClient): Promise<unknown[]> =>
  (await sql('select sequence::int from tiba.events where client_id = $1 order by 1', [clientId])).map(
    ({ sequence }) => sequence,
  );

test('messages go, oldest first and batch by batch; those of a transaction in PROCESS stay', async () => {
  const client = await addOwnClient(service);
  const { clientId } = client;
  const open = { client_id: clientId, transaction_id: 'RT0000000001', reference_id: 'RT1' };
  assert.equal((await service.feed(statusUpdate({ ...open, created_at: '2026-01-01T00:00:00Z' }))).status, 200);
  await eventually('it is overdue', async () => (await sequences(client)).length === 1);
  const [ended = ''] = await feedEvents(client, 1);
  await feedEvents(client, 1);
  await age(client);
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

test('events go, except for one with an open delivery; a reader before them gets 410 and goes on', async () => {
  const client = await addOwnClient(service);
  const receiver = await startHttpReceiver();
  const { endpointId } = await register(service, { url: receiver.url }, client.token);
  await feedEvents(client, 6);
  await eventually('all are delivered', async () => {
    return (await sql('select from tiba.callback_outbox where endpoint_id = $1', [endpointId])).length === 0;
  });
  await receiver.close();
  const body = { client_id: client.clientId };
  const replayed = await call(service, 'POST', `${DELIVERIES}/${endpointId}-2/replay`, {
    token: client.token,
    body: {},
  });
  assert.equal(dataOf(replayed)['state'], 'pending', JSON.stringify(body));
  await age(client);
  await feedEvents(client, 2);

  const { database } = service.app;
  const sizes = await eventBatches(2);
  assert.deepEqual([sizes.reduce((sum, size) => sum + size, 0), Math.max(...sizes)], [5, 2]);
  assert.deepEqual(await sequences(client), [2, 7, 8]);
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
  assert.deepEqual(await sequences(client), [1, 2, 3, 4, 5]);
  await setTime(`now() - interval '500 days'`, [1, 2]);
  assert.deepEqual(await eventBatches(1_000), [3]);
  assert.deepEqual(await sequences(client), [4, 5]);
});

for (const table of ['callback_endpoints', 'clients']) {
  /** Regression: such deliveries never end, and their events were examined again for each batch. */
  test(`events go with their pending deliveries when those are disabled in ${table}`, async () => {
    const client = await addOwnClient(service);
    const own = [client.clientId];
    const { endpointId } = await register(service, { url: 'http://127.0.0.1:9/' }, client.token);
    await feedEvents(client, 3);
    await age(client);
    await sql('update tiba.events set occurred_at = now() where client_id = $1 and sequence = 3', own);
    assert.deepEqual(await eventBatches(2), []);
    const reason = table === 'clients' ? '' : `, disabled_reason = 'failing'`;
    await sql(`update tiba.${table} set disabled_at = now() ${reason} where client_id = $1`, own);
    assert.deepEqual(await eventBatches(2), [2]);
    assert.deepEqual(await sql('select sequence::int from tiba.callback_outbox where endpoint_id = $1', [endpointId]), [
      { sequence: 3 },
    ]);
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
  await age(client);
  await feedEvents(client, 1);
  await eventually('the last is delivered', async () => (await delivered()) === 4);
  await receiver.close();
  assert.deepEqual(await scanBatches(scanCallbacks(service.app.database, 2)), [2, 1]);
  assert.equal(await delivered(), 1);
  assert.deepEqual(await sequences(client), [1, 2, 3, 4]);
});

test('final transactions go after their events; a process that died in between changes nothing', async () => {
  const client = await addOwnClient(service);
  const { clientId } = client;
  const open = { client_id: clientId, transaction_id: 'RT0000000002', reference_id: 'RT2' };
  assert.equal((await service.feed(statusUpdate(open))).status, 200);
  const [first = ''] = await feedEvents(client, 3);
  const again = { client_id: clientId, transaction_id: first, status: 'SUCCESS' };
  assert.equal((await service.feed(again)).status, 200);
  await age(client);
  const [recent] = await feedEvents(client, 1);

  assert.deepEqual(await transactionBatches(2), []);
  // As a process leaves it that dies before it deletes the events.
  await sql('update tiba.event_sequences set removed_up_to = 3 where client_id = $1', [clientId]);
  await eventBatches(100);
  assert.deepEqual(await transactionBatches(2), [2, 1]);
  assert.deepEqual(
    (await sql('select transaction_id from tiba.transactions where client_id = $1 order by 1', [clientId])).map(
      ({ transaction_id: id }) => id,
    ),
    [open.transaction_id, recent],
  );
  assert.deepEqual(await sql('select from tiba.other_status_updates where transaction_id = $1', [first]), []);
});

/** Adds clients. Of the events of each, all but the newest are old. */
async function addClientsWithEvents(prefix: string, clients: number, events: number): Promise<void> {
  await sql(
    `insert into tiba.clients (client_id, name, secret_hash, scopes)
     select $1 || n, 'x', '\\x00', '{}' from generate_series(1, $2::int) as n`,
    [prefix, clients],
  );
  await sql(
    `insert into tiba.event_sequences (client_id, last_sequence)
     select client_id, $2 from tiba.clients where starts_with(client_id, $1)`,
    [prefix, events],
  );
  await sql(
    `insert into tiba.events (client_id, sequence, occurred_at, version, subject_id, kind)
     select client_id, sequence, now() - case when sequence < $2 then interval '500 days' else interval '0' end, 1,
            'TB' || sequence, 'disbursement.succeeded'
       from tiba.clients cross join generate_series(1, $2::int) as sequence where starts_with(client_id, $1)`,
    [prefix, events],
  );
}

/** Regression: one statement examined the old events of every client, and took longer than a statement may. */
test('old events of many clients go, of some clients in each batch', async () => {
  const clients = 30;
  await addClientsWithEvents('many-', clients, 4);
  const grown = async (): Promise<unknown> =>
    (
      await sql("select count(*)::int from tiba.event_sequences where client_id like 'many-%' and removed_up_to = 3")
    )[0]?.['count'];
  const events = scanEvents(service.app.database, 10);
  assert.equal(await events.deleteBatch(daysAgo(400)), 10);
  assert.equal(await grown(), 20);
  await scanBatches(events);
  assert.equal(await grown(), clients);
  const left = await sql("select distinct sequence::int from tiba.events where client_id like 'many-%'");
  assert.deepEqual(left, [{ sequence: 4 }]);
});

/** Regression: the old events of every client that waits for the archive were read, and the statement timed out. */
test('clients that wait for the archive do not keep the old events of others, and theirs are not read', async () => {
  await addClientsWithEvents('waits-', 40, 50);
  await addClientsWithEvents('archived-', 1, 4);
  await sql(
    `update tiba.event_sequences set archived_up_to = case when starts_with(client_id, 'waits-') then 0 else 2 end
      where starts_with(client_id, 'waits-') or starts_with(client_id, 'archived-')`,
  );
  const { database } = service.app;
  const examined: number[] = [];
  const watched: Database = {
    ...database,
    async query(statement, values, name) {
      if (statement.includes('last.sequence')) examined.push(await eventsRead(statement, values));
      return database.query(statement, values, name);
    },
  };
  assert.deepEqual(await scanBatches(scanEvents(watched, 50)), [2]);
  assert.ok(Math.max(...examined) < 100, `${String(examined)} events were read`);
  await sql('update tiba.event_sequences set archived_up_to = null');
  assert.equal(
    (await eventBatches(1_000)).reduce((sum, size) => sum + size, 0),
    40 * 49 + 1,
  );
});

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** How many events the statement reads. */
async function eventsRead(statement: string, values: readonly unknown[] = []): Promise<number> {
  const explained = `explain (analyze, timing off, format json) ${statement}`;
  const [row] = await service.app.database.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(explained, values);
  const count = ({ Plans: plans = [], ...node }: PlanNode): number =>
    plans.reduce((sum, plan) => sum + count(plan), 0) +
    (node['Relation Name'] === 'events'
      ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
      : 0);
  return count(row?.['QUERY PLAN'][0].Plan ?? assert.fail('no plan'));
}

/** Regression: each batch stepped over all that stays again, and took longer and longer. */
test('what must stay is examined once in an hour, and not in each batch', async () => {
  const client = await addOwnClient(service);
  const { endpointId } = await register(service, { url: 'http://127.0.0.1:9/' }, client.token);
  await feedEvents(client, 7);
  await age(client);
  await feedEvents(client, 1);
  // Of the first five, the deliveries are open.
  await sql('delete from tiba.callback_outbox where endpoint_id = $1 and sequence > 5', [endpointId]);
  let nowMs = 0;
  const { database } = service.app;
  const [events, transactions] = [scanEvents(database, 2, () => nowMs), scanTransactions(database, 2, () => nowMs)];
  assert.deepEqual(await scanBatches(events), [1, 1]);
  assert.deepEqual(await scanBatches(transactions), [1, 1]);
  assert.deepEqual(await sequences(client), [1, 2, 3, 4, 5, 8]);
  await sql('delete from tiba.callback_outbox where endpoint_id = $1 and sequence < 3', [endpointId]);
  assert.deepEqual(await scanBatches(events), []);
  nowMs += 60 * 60 * 1_000;
  assert.deepEqual(await scanBatches(events), [2]);
  assert.deepEqual(await scanBatches(transactions), [2]);
  assert.deepEqual(await sequences(client), [3, 4, 5, 8]);
  await sql('delete from tiba.callback_outbox where endpoint_id = $1', [endpointId]);
});

/** Regression: each batch looked at the open deliveries again. */
test('attempts of open deliveries are examined once in an hour, and not in each batch', async () => {
  const client = await addOwnClient(service);
  const { endpointId } = await register(service, { kinds: ['disbursement.overdue'] }, client.token);
  await feedEvents(client, 6);
  await age(client);
  await feedEvents(client, 1);
  // Two attempts of each event. The first four deliveries are open.
  await sql(
    `insert into tiba.callback_attempts (client_id, endpoint_id, sequence, attempt, started_at, duration_ms)
     select client_id, $2, sequence, attempt, occurred_at, 1
       from tiba.events cross join generate_series(1, 2) as attempt where client_id = $1`,
    [client.clientId, endpointId],
  );
  await sql(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at)
     select $1, $2, sequence, '2099-01-01' from generate_series(1, 4) as sequence`,
    [client.clientId, endpointId],
  );
  const left = async (): Promise<unknown[]> =>
    (await sql('select sequence::int from tiba.callback_attempts where endpoint_id = $1 order by 1', [endpointId])).map(
      ({ sequence }) => sequence,
    );
  let nowMs = 0;
  const scan = scanCallbacks(service.app.database, 3, () => nowMs);
  assert.deepEqual(await scanBatches(scan), [1, 3]);
  assert.deepEqual(await left(), [1, 1, 2, 2, 3, 3, 4, 4, 7, 7]);
  await sql('delete from tiba.callback_outbox where endpoint_id = $1 and sequence < 3', [endpointId]);
  assert.deepEqual(await scanBatches(scan), []);
  nowMs += 60 * 60 * 1_000;
  assert.deepEqual(await scanBatches(scan), [3, 1]);
  assert.deepEqual(await left(), [3, 3, 4, 4, 7, 7]);
  await sql('delete from tiba.callback_outbox where endpoint_id = $1', [endpointId]);
});

test('one process holds a lease, and another takes it when it has ended', async () => {
  const { database } = service.app;
  const [one, other] = [createLease(database, 'test', 3_600_000), createLease(database, 'test', 3_600_000)];
  assert.deepEqual([await one.hold(), await other.hold(), await one.hold()], [true, false, true]);
  await sql(`update tiba.leases set ends_at = now() where name = 'test'`);
  assert.deepEqual([await other.hold(), await one.hold()], [true, false]);
});
