import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { beginArchive, endArchive } from '../../apps/server/src/postgres/archive-files.ts';
import { takeOutOfRanges } from '../../apps/server/src/postgres/callback-outbox-ranges.ts';
import { type Database, DatabaseUnavailable } from '../../apps/server/src/postgres/database.ts';
import { scanCallbacks } from '../../apps/server/src/postgres/retention/callbacks.ts';
import { scanEvents } from '../../apps/server/src/postgres/retention/events.ts';
import { deleteStatusMessages } from '../../apps/server/src/postgres/retention/status-messages.ts';
import { scanTransactions } from '../../apps/server/src/postgres/retention/transactions.ts';
import { addOwnClient, feedSuccesses, openSql, register } from '../callbacks/endpoints-harness.ts';
import { startTestService, type TestClient, type TestService } from '../support/service.ts';
import { addClientsWithEvents, age, daysAgo, scanBatches, sequences, WITHOUT_RETENTION } from './retention-harness.ts';

/** What a batch of the retention examines, and what it costs. */

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
before(async () => {
  service = await startTestService({ rails: [], settings: WITHOUT_RETENTION });
  sql = await openSql(service);
});
after(async () => {
  await sql?.end();
  await service?.close();
});
// What is deleted is of all clients, so nothing old may be left of the test before.
afterEach(async () => {
  await eventBatches(1_000);
  await scanBatches(scanTransactions(service.app.database, 1_000));
});

const eventBatches = (limit: number): Promise<number[]> => scanBatches(scanEvents(service.app.database, limit));
const feedEvents = (client: TestClient, count: number): Promise<string[]> =>
  feedSuccesses(service, count, { client_id: client.clientId });

/** Regression: one statement examined the old events of every client, and took longer than a statement may. */
test('old events of many clients go, of some clients in each batch', async () => {
  const clients = 30;
  await addClientsWithEvents(sql, 'many-', clients, 4);
  const removed = async (): Promise<unknown[]> =>
    (
      await sql(
        `select removed_up_to::int as sequence from tiba.event_sequences
          where client_id like 'many-%' and removed_up_to > 0 order by 1`,
      )
    ).map(({ sequence }) => sequence);
  const events = scanEvents(service.app.database, 10);
  assert.equal(await events.deleteBatch(daysAgo(400)), 10);
  assert.deepEqual(await removed(), [1, 3, 3, 3]);
  await scanBatches(events);
  assert.deepEqual(
    await removed(),
    Array.from({ length: clients }, () => 3),
  );
  const left = await sql("select distinct sequence::int from tiba.events where client_id like 'many-%'");
  assert.deepEqual(left, [{ sequence: 4 }]);
});

/**
 * Regression: each batch began with the same clients, so while it failed for them, no others were examined. Later the
 * pass went on without all clients of the batch, and ended as if it were complete: no alert told of it.
 */
test('what fails for one client does not keep the old events of others, and no pass says that it is complete', async () => {
  await addClientsWithEvents(sql, 'fails-', 1, 4);
  await addClientsWithEvents(sql, 'others-', 40, 4);
  const left = async (prefix: string): Promise<number> =>
    (await sql('select from tiba.events where starts_with(client_id, $1) and sequence < 4', [prefix])).length;
  const { database } = service.app;
  const events = scanEvents(
    {
      ...database,
      query: (statement, values, name) =>
        JSON.stringify(values ?? []).includes('fails-1')
          ? Promise.reject(new DatabaseUnavailable('the node is away', false))
          : database.query(statement, values, name),
    },
    1_000,
  );
  for (const pass of ['first', 'second']) {
    await assert.rejects(scanBatches(events), DatabaseUnavailable, `the ${pass} pass`);
    assert.equal(events.hasMore(), false, 'the next batch begins another pass');
    assert.deepEqual([await left('fails-'), await left('others-')], [3, 0]);
  }
});

/** Regression: clients that came after one of a node that was away, among the same twenty, were not examined. */
test('clients of a node that is away do not keep the old events of those on other nodes', async () => {
  await addClientsWithEvents(sql, 'placed-', 6, 4);
  const isAway = (statement: string): boolean => /client_id = 'placed-[135]'/.test(statement);
  const { database } = service.app;
  const distributed: Database = {
    ...database,
    distributed: true,
    query: (statement, values, name) =>
      isAway(statement)
        ? Promise.reject(new DatabaseUnavailable('the node is away', false))
        : database.query(statement, values, name),
  };
  const events = scanEvents(distributed, 2);
  await assert.rejects(scanBatches(events), DatabaseUnavailable);
  assert.equal(events.hasMore(), false);
  const left = await sql(
    "select client_id from tiba.events where starts_with(client_id, 'placed-') and sequence < 4 group by 1 order by 1",
  );
  assert.deepEqual(left, [{ client_id: 'placed-1' }, { client_id: 'placed-3' }, { client_id: 'placed-5' }]);
});

/** Regression: the old events of every client that waits for the archive were read, and the statement timed out. */
test('clients that wait for the archive do not keep the old events of others, and theirs are not read', async () => {
  await addClientsWithEvents(sql, 'waits-', 40, 50);
  await addClientsWithEvents(sql, 'archived-', 1, 4);
  await sql(
    `update tiba.event_sequences set archived_up_to = case when starts_with(client_id, 'waits-') then 0 else 2 end
      where starts_with(client_id, 'waits-') or starts_with(client_id, 'archived-')`,
  );
  const { database } = service.app;
  const examined: number[] = [];
  const watched: Database = {
    ...database,
    async query(statement, values, name) {
      if (statement.includes('last.sequence')) examined.push(await rowsReadOf('events', statement, values));
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

test('a batch of messages reads the transactions in PROCESS that are old, and not the others', async () => {
  await addTransactions('process-', 3_000);
  await sql(
    `update tiba.transactions
        set status = 'PROCESS', processed_at = null, expected_by = 'tomorrow',
            created_at = case when transaction_id < 'TB12' then $1::timestamptz else $2 end
      where client_id = 'process-1'`,
    [daysAgo(500), daysAgo(0)],
  );
  await sql(
    `insert into tiba.status_messages (client_id, source, messages, received_at)
     select 'process-1', 'core', '\\x00', now() - interval '500 days' from generate_series(1, 300)`,
  );
  await sql('analyze tiba.transactions, tiba.status_messages');
  const rows: number[] = [];
  const { database } = service.app;
  const watched: Database = {
    ...database,
    async query(statement, values, name) {
      rows.push(await rowsReadOf('transactions_in_process', statement, values));
      return database.query(statement, values, name);
    },
  };
  const [{ old }] = (await sql("select count(*)::int as old from tiba.transactions where transaction_id < 'TB12'")) as [
    { old: number },
  ];
  assert.equal(await deleteStatusMessages(watched, daysAgo(400), 250), 250);
  assert.deepEqual(rows, [old]);
});

/** Regression: it deleted events that no archive had, and the archive went on after them. */
test('a batch in the middle of which the archive begins deletes no event that the archive begins with', async () => {
  await addClientsWithEvents(sql, 'begins-', 2, 4);
  const { database } = service.app;
  let begun = false;
  const beginning: Database = {
    ...database,
    async query(statement, values, name) {
      if (statement.includes('set removed_up_to') && !begun) {
        begun = true;
        await beginArchive(database);
      }
      return database.query(statement, values, name);
    },
  };
  assert.deepEqual(await scanBatches(scanEvents(beginning, 6)), []);
  assert.ok(begun);
  const kept = await sql(
    `select removed_up_to::int, archived_up_to::int, (select count(*)::int from tiba.events v where v.client_id = s.client_id)
       from tiba.event_sequences s where starts_with(client_id, 'begins-')`,
  );
  const whole = { removed_up_to: 0, archived_up_to: 0, count: 4 };
  assert.deepEqual(kept, [whole, whole]);
  await sql("update tiba.event_sequences set archived_up_to = 3 where starts_with(client_id, 'begins-')");
  assert.deepEqual(await eventBatches(6), [6]);
  await endArchive(database);
});

/**
 * Regression: by PostgreSQL's default, a table of 400 million audit records is vacuumed when 80 million are dead. Long
 * before, a batch that stepped over their index entries took longer than a statement may, and nothing was deleted.
 */
test('each table whose oldest records go is vacuumed when a hundredth of it is dead', async () => {
  const vacuumed = await sql(
    `select relname from pg_class
      where relnamespace = 'tiba'::regnamespace and 'autovacuum_vacuum_scale_factor=0.01' = any (reloptions)
      order by relname`,
  );
  assert.deepEqual(
    vacuumed.map(({ relname }) => relname),
    ['account_checks', 'callback_attempts', 'events', 'status_messages', 'transactions_final'],
  );
});

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

/** The plan of the statement, as it was executed; nothing is changed. */
async function planOf(statement: string, values: readonly unknown[] = []): Promise<PlanNode> {
  let plan: PlanNode | undefined;
  const undone = new Error('undone');
  await service.app.database
    .transaction(async (query) => {
      const explained = `explain (analyze, buffers, timing off, format json) ${statement}`;
      const { rows } = await query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(explained, values);
      plan = rows[0]?.['QUERY PLAN'][0].Plan;
      throw undone;
    })
    .catch((error: unknown) => assert.equal(error, undone));
  return plan ?? assert.fail('no plan');
}

/** How many rows of the table the statement reads. */
async function rowsReadOf(table: string, statement: string, values: readonly unknown[] = []): Promise<number> {
  const count = ({ Plans: plans = [], ...node }: PlanNode): number =>
    plans.reduce((sum, plan) => sum + count(plan), 0) +
    (node['Relation Name'] === table
      ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
      : 0);
  return count(await planOf(statement, values));
}

/** Adds final transactions that are old, with an event of each. */
async function addTransactions(clientId: string, count: number): Promise<void> {
  await addClientsWithEvents(sql, clientId, 1, count);
  await sql(
    `insert into tiba.transactions
       (client_id, transaction_id, reference_id, status, amount, fee, currency, bank_code, bank_name, account_number,
        account_name, description, created_at, processed_at, rendered)
     select client_id, subject_id, subject_id, 'SUCCESS', 1, 0, 'IDR', '014', 'BCA', '1', 'X', 'X', occurred_at,
            occurred_at + sequence * interval '1 second', ''
       from tiba.events where client_id = $1 || '1'`,
    [clientId],
  );
  // As autovacuum does.
  await sql('analyze tiba.events, tiba.transactions');
}

/** How many blocks the statement reads to scan this index. */
async function blocksRead(index: string, statement: string, values: readonly unknown[] = []): Promise<number> {
  const blocksOf = (plan: PlanNode): number => plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  const count = (plan: PlanNode): number => {
    const { Plans: plans = [] } = plan;
    const own = plan['Index Name'] === index ? plans.reduce((rest, part) => rest - blocksOf(part), blocksOf(plan)) : 0;
    return plans.reduce((sum, part) => sum + count(part), own);
  };
  return count(await planOf(statement, values));
}

/** Regression: each batch stepped over the index entries of what the batches before had deleted, and slowed down. */
test('the last batch reads as little as the first', async () => {
  const limit = 100;
  const whole = 59;
  await addTransactions('day-', (whole + 1) * limit);
  const { database } = service.app;
  for (const [scanned, index] of [
    [scanEvents, 'events_pkey'],
    [scanTransactions, 'transactions_processed_at'],
  ] as const) {
    const blocks: number[] = [];
    const watched: Database = {
      ...database,
      async query(statement, values, name) {
        if (statement.includes('limit $2')) blocks.push(await blocksRead(index, statement, values));
        return database.query(statement, values, name);
      },
    };
    // Not the sizes: a batch skips rows that its own EXPLAIN, which is being rolled back, may still hold.
    await scanBatches(scanned(watched, limit));
    assert.ok(blocks.length > whole, `${blocks.length} batches`);
    const [first = Number.NaN] = blocks;
    const last = Math.max(...blocks.slice(whole - 10, whole));
    assert.ok(last < 2 * first, `blocks that each batch read: ${blocks.join(' ')}`);
  }
});

/** Regression: each batch stepped over all that stays again, and took longer and longer. */
test('what must stay is examined once in an hour, and not in each batch', async () => {
  const client = await addOwnClient(service);
  const { endpointId } = await register(service, { url: 'http://127.0.0.1:9/' }, client.token);
  await feedEvents(client, 7);
  await age(sql, client);
  await feedEvents(client, 1);
  // Of the first five, the deliveries are open. The dispatcher may not have claimed them yet.
  const endpoint = { clientId: client.clientId, endpointId };
  await service.app.database.transaction((query) => takeOutOfRanges(query, endpoint, { first: 1, last: 8 }));
  await sql('delete from tiba.callback_outbox where endpoint_id = $1 and sequence > 5', [endpointId]);
  let nowMs = 0;
  const { database } = service.app;
  const [events, transactions] = [scanEvents(database, 2, () => nowMs), scanTransactions(database, 2, () => nowMs)];
  assert.deepEqual(await scanBatches(events), [1, 1]);
  assert.deepEqual(await scanBatches(transactions), [1, 1]);
  assert.deepEqual(await sequences(sql, client), [1, 2, 3, 4, 5, 8]);
  await sql('delete from tiba.callback_outbox where endpoint_id = $1 and sequence < 3', [endpointId]);
  assert.deepEqual(await scanBatches(events), []);
  nowMs += 60 * 60 * 1_000;
  assert.deepEqual(await scanBatches(events), [2]);
  assert.deepEqual(await scanBatches(transactions), [2]);
  assert.deepEqual(await sequences(sql, client), [3, 4, 5, 8]);
  await sql('delete from tiba.callback_outbox where endpoint_id = $1', [endpointId]);
});

/** Regression: each batch looked at the open deliveries again. */
test('attempts of open deliveries are examined once in an hour, and not in each batch', async () => {
  const client = await addOwnClient(service);
  const { endpointId } = await register(service, { kinds: ['disbursement.overdue'] }, client.token);
  await feedEvents(client, 6);
  await age(sql, client);
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
