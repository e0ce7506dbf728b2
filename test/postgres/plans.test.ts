import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import pino from 'pino';
import { type ClaimedDelivery, claimDeliveries } from '../../apps/server/src/postgres/callback-deliveries.ts';
import { listDeliveries } from '../../apps/server/src/postgres/callback-history.ts';
import { advanceReplay, insertRangeReplay } from '../../apps/server/src/postgres/callback-replays.ts';
import { type RecordedAttempt, recordResults } from '../../apps/server/src/postgres/callback-results.ts';
import { type Database, openDatabase } from '../../apps/server/src/postgres/database.ts';
import { readHistories } from '../../apps/server/src/postgres/transaction-histories.ts';
import { listEventDeliveries, listTransactionEvents } from '../../apps/server/src/postgres/transaction-timeline.ts';
import { setUpDeliveries } from '../callbacks/delivery-setup.ts';
import { checkStatusBatch, outcomesOf } from '../contract/batch-requests.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';

const idOf = (number: number): string => `TP${String(number).padStart(10, '0')}`;

interface Fed {
  readonly status?: string;
  readonly referenceOf?: (id: string) => string;
  /** Updates in each request. */
  readonly step?: number;
}

/** Feeds a status update of each of `count` transactions, which are numbered from `from` on. */
async function feed(
  service: TestService,
  { from, count }: { readonly from: number; readonly count: number },
  { status = 'PROCESS', referenceOf = (id) => id, step = 500 }: Fed = {},
): Promise<void> {
  for (let start = from; start < from + count; start += step) {
    const updates = Array.from({ length: Math.min(step, from + count - start) }, (_, index) => {
      const id = idOf(start + index);
      return JSON.stringify(statusUpdate({ transaction_id: id, reference_id: referenceOf(id), status }));
    });
    const answer = await service.feed(updates.join('\n'));
    assert.equal(answer.status, 200, answer.text);
  }
}

async function lookUpReference(service: TestService, reference: string): Promise<void> {
  const answer = await service.get(`/api/v1/check-status?reference_id=${encodeURIComponent(reference)}`);
  assert.equal(answer.status, 200, answer.text);
}

/** A service with a database of its own, and a connection to that. */
async function withFreshService(work: (fresh: TestService, client: pg.Client) => Promise<void>): Promise<void> {
  const fresh = await startTestService({ rails: [] });
  const client = new pg.Client(fresh.database.connection);
  try {
    await client.connect();
    await work(fresh, client);
  } finally {
    await client.end();
    await fresh.close();
  }
}

const keepFromAutovacuum = (client: pg.Client, table: string): Promise<unknown> =>
  client.query(`alter table tiba.${table} set (autovacuum_enabled = off)`);

async function lookUp(service: TestService, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    assert.equal((await service.get('/api/v1/check-status/TP0000000001')).status, 200);
    const ids = ['TP0000000001', 'TP0000000002', 'NONE'];
    assert.deepEqual(outcomesOf(await checkStatusBatch(service, { ids })), [
      ...ids.slice(0, 2),
      'TRANSACTION_NOT_FOUND',
    ]);
  }
}

const TABLES_OF_FEEDS = ['transactions_in_process', 'transactions_final', 'status_messages', 'other_status_updates'];

/** How many rows of these tables all statements together have read, by sequential scans and by indexes. */
async function rowsRead(client: pg.Client, tables = TABLES_OF_FEEDS): Promise<{ whole: number; indexed: number }> {
  const { rows } = await client.query<{ whole: number; indexed: number }>(
    `select sum(seq_tup_read)::integer as whole, sum(idx_tup_fetch)::integer as indexed
       from pg_stat_user_tables where schemaname = 'tiba' and relname = any ($1)`,
    [tables],
  );
  return rows[0] ?? { whole: 0, indexed: 0 };
}

/** How many scans of this index all statements together have begun. */
async function scansOf(client: pg.Client, index: string): Promise<number> {
  const { rows } = await client.query<{ scans: number }>(
    'select idx_scan::integer as scans from pg_stat_user_indexes where indexrelname = $1',
    [index],
  );
  return rows[0]?.scans ?? Number.NaN;
}

/** How many entries of the indexes of these tables all statements together have read. */
async function entriesRead(client: pg.Client, tables: readonly string[]): Promise<number> {
  const { rows } = await client.query<{ entries: number }>(
    'select sum(idx_tup_read)::integer as entries from pg_stat_user_indexes where relname = any ($1)',
    [tables],
  );
  return rows[0]?.entries ?? Number.NaN;
}

/**
 * How many entries of the indexes of these tables the statements of `work` have read. They are executed in one
 * transaction: meanwhile its connection counts for itself, and what others report does not matter.
 */
async function entriesReadBy(
  database: Database,
  tables: readonly string[],
  work: (own: Database) => Promise<void>,
): Promise<number> {
  return database.transaction(async (query) => {
    const countEntries = async (): Promise<number> => {
      const { rows } = await query<{ entries: number }>(
        `select coalesce(sum(pg_stat_get_xact_tuples_returned(i.indexrelid)), 0)::integer as entries
           from pg_index i join pg_class c on c.oid = i.indrelid
          where c.relnamespace = 'tiba'::regnamespace and c.relname = any ($1)`,
        [tables],
      );
      return rows[0]?.entries ?? Number.NaN;
    };
    const before = await countEntries();
    await work({
      ...database,
      query: async <R extends Record<string, unknown>>(sql: string, values?: readonly unknown[]): Promise<R[]> =>
        (await query<R>(sql, values)).rows,
    });
    return (await countEntries()) - before;
  });
}

// Regression: on an empty database, foreign key checks chose the index of reference IDs, by client_id alone, and read
// all transactions of the client for each line.
test('connections that were opened on an empty database use the keys when it has grown', () =>
  withFreshService(async (fresh, client) => {
    const referenceOf = (id: string): string => `fresh ${id}`;
    await feed(fresh, { from: 0, count: 3_000 }, { status: 'SUCCESS', referenceOf, step: 100 });
    await fresh.app.close();
    const { indexed } = await rowsRead(client);
    assert.ok(indexed < 60_000, `${indexed} rows were read by an index`);
  }));

const longReferenceOf = (id: string): string => id.padStart(70, 'long reference ');

// Regression: the index of long reference IDs is the first one with two levels. While a client had some hundred final
// transactions, PostgreSQL took another index for a look-up by reference, by client_id alone, and kept that plan.
test('a plan that was made for a small table looks long reference IDs up by their key', () =>
  withFreshService(async (fresh, client) => {
    const final = { status: 'SUCCESS', referenceOf: longReferenceOf };
    const lookUpReferences = async (count: number): Promise<void> => {
      for (let number = 0; number < count; number += 1) await lookUpReference(fresh, longReferenceOf(idOf(number)));
    };
    await keepFromAutovacuum(client, 'transactions_final');
    await feed(fresh, { from: 0, count: 120 }, { ...final, step: 20 });
    // From the sixth time on PostgreSQL keeps the plan of a prepared statement.
    await lookUpReferences(20);
    await feed(fresh, { from: 120, count: 3_000 }, final);
    await lookUpReferences(100);
    await fresh.app.close();
    const { indexed } = await rowsRead(client);
    assert.ok(indexed < 30_000, `${indexed} rows were read by an index`);
  }));

// Regression: connections kept plans of foreign keys and prepared statements that were made for a small table. The
// first long feed then scanned the whole table for every line, until its deadline passed and it got 503.
test('a table that was analyzed while it was small is read by its keys when it has grown', () =>
  withFreshService(async (fresh, client) => {
    await feed(fresh, { from: 0, count: 16 });
    // Autovacuum does this at any time.
    await client.query('vacuum analyze tiba.transactions, tiba.status_messages, tiba.other_status_updates');
    await feed(fresh, { from: 0, count: 16 });
    await lookUp(fresh, 10);
    await feed(fresh, { from: 16, count: 3_000 }, { step: 3_000 });
    await lookUp(fresh, 50);
    // A connection reports its statistics at the latest when it ends.
    await fresh.app.close();
    const { whole, indexed } = await rowsRead(client);
    assert.ok(whole < 1_000, `${whole} rows were read by sequential scans`);
    // A few rows per line, including the one that marks it overdue; with a wrong plan it would be millions.
    assert.ok(indexed < 60_000, `${indexed} rows were read by an index`);
  }));

/** Vacuums a table that is empty and has had rows, and keeps autovacuum from doing so again. */
async function vacuumEmpty(client: pg.Client, table: string): Promise<void> {
  await keepFromAutovacuum(client, table);
  await client.query(`vacuum tiba.${table}`);
  const { rows } = await client.query<{ reltuples: number; relpages: number }>(
    "select reltuples, relpages from pg_class where relnamespace = 'tiba'::regnamespace and relname = $1",
    [table],
  );
  assert.ok(rows[0]?.reltuples === 0 && rows[0].relpages > 0, JSON.stringify(rows));
}

// Regression: after a vacuum while no transaction was in PROCESS, the planner took the table for one without rows, and
// the index of references for as good as the key. Each line of the next feed read all of the client's transactions,
// until a deadline passed and the feed got 503.
for (const [title, referenceOf] of [
  ['short', (id: string) => id],
  ['long', longReferenceOf],
] as const) {
  test(`transactions are read by their keys after a vacuum of none, with ${title} references`, () =>
    withFreshService(async (fresh, client) => {
      await feed(fresh, { from: 0, count: 1_000 }, { referenceOf });
      await feed(fresh, { from: 0, count: 1_000 }, { referenceOf, status: 'SUCCESS' });
      await vacuumEmpty(client, 'transactions_in_process');
      const before = await rowsRead(client);
      await feed(fresh, { from: 1_000, count: 3_000 }, { referenceOf });
      for (let number = 1_000; number < 1_050; number += 1) {
        assert.equal((await fresh.get(`/api/v1/check-status/${idOf(number)}`)).status, 200);
        await lookUpReference(fresh, referenceOf(idOf(number)));
      }
      await feed(fresh, { from: 1_000, count: 3_000 }, { referenceOf, status: 'SUCCESS' });
      await fresh.app.close();
      const indexed = (await rowsRead(client)).indexed - before.indexed;
      assert.ok(indexed < 60_000, `${indexed} rows were read by an index`);
      // Regression: each batch of ends looked for its IDs in this whole index, where they are the last column.
      assert.equal(await scansOf(client, 'transactions_in_process_list'), 0);
    }));
}

// Regression: with a plan for few rows, each batch of transactions that became overdue, or ended afterwards, read all
// transactions, and all events of the client. Autovacuum may take minutes to count the rows again.
test('overdue transactions are marked and ended by their keys while the tables are thought to be small', () =>
  withFreshService(async (fresh, client) => {
    const tables = ['transactions_in_process', 'transactions_final', 'events'];
    await feed(fresh, { from: 0, count: 50 }, { status: 'SUCCESS' });
    for (const table of tables) {
      await keepFromAutovacuum(client, table);
      await client.query(`vacuum analyze tiba.${table}`);
    }
    const before = await entriesRead(client, tables);
    await feed(fresh, { from: 50, count: 5_000 }, { step: 5_000 });
    await eventually('all are overdue', async () => {
      const { rowCount } = await client.query(
        'select from tiba.transactions_in_process where overdue_since is null limit 1',
      );
      return rowCount === 0;
    });
    await feed(fresh, { from: 50, count: 5_000 }, { status: 'SUCCESS', step: 5_000 });
    await fresh.app.close();
    const entries = (await entriesRead(client, tables)) - before;
    assert.ok(entries < 120_000, `${entries} entries of indexes were read`);
  }));

// Regression: until the first statistics, each look-up of a transaction's events read all events of the client as well.
test('events of a transaction are found by its ID before the first statistics', () =>
  withFreshService(async (fresh, client) => {
    await keepFromAutovacuum(client, 'events');
    await feed(fresh, { from: 0, count: 3_000 }, { status: 'SUCCESS' });
    const { clientId } = fresh.alpha;
    const database = openDatabase({
      connection: fresh.database.connection,
      connectionsMax: 1,
      log: pino({ base: null }),
    });
    const read = await entriesReadBy(database, ['events'], async (own) => {
      for (let number = 0; number < 20; number += 1) {
        const events = await listTransactionEvents(own, { clientId, transactionId: idOf(number) }, 10);
        assert.equal(events.length, 1);
      }
      const ids = Array.from({ length: 100 }, (_, number) => idOf(number));
      const histories = await readHistories(own, clientId, ids);
      assert.deepEqual(
        histories.map(({ events }) => events.length),
        ids.map(() => 1),
      );
    });
    await database.close();
    assert.ok(read < 1_000, `${read} entries of indexes were read`);
  }));

// Regression: so did the results of failed deliveries, by the index of what is due: each batch of results read all
// deliveries of the endpoint that waited.
test('results of deliveries are stored by their keys after a vacuum of none', async () => {
  const setup = await setUpDeliveries();
  const client = new pg.Client(setup.testDatabase.connection);
  const outboxRowsRead = async (): Promise<number> => {
    // Otherwise a connection reports its statistics now and then.
    await setup.database.query('select pg_stat_force_next_flush()');
    return (await rowsRead(client, ['callback_outbox'])).indexed;
  };
  try {
    await client.connect();
    const endpoint = await setup.addEndpoint('https://callbacks.example.com/');
    await setup.succeed(500);
    await setup.takeOutOfRanges(endpoint);
    await client.query('delete from tiba.callback_outbox');
    await vacuumEmpty(client, 'callback_outbox');
    await setup.succeed(2_000);
    const before = await outboxRowsRead();
    let claimsRead = 0;
    for (let batch = 0; batch < 20; batch += 1) {
      const beforeClaim = await outboxRowsRead();
      const claimed = await claimDeliveries(setup.database, endpoint, { limit: 32, leaseMs: 600_000 });
      claimsRead += (await outboxRowsRead()) - beforeClaim;
      assert.equal(claimed.length, 32);
      await recordResults(setup.database, claimed.map(failedAttempt), []);
    }
    const read = (await outboxRowsRead()) - before - claimsRead;
    assert.ok(read < 5_000, `${read} rows were read for the results of 640 attempts`);
  } finally {
    await client.end();
    await setup.close();
  }
});

// A replay looks each second at what is due, while all that waits for a later attempt may be a hundred thousand rows.
test('a replay reads only what is due after a vacuum of none', async () => {
  const setup = await setUpDeliveries();
  const client = new pg.Client(setup.testDatabase.connection);
  try {
    await client.connect();
    const endpoint = await setup.addEndpoint('https://callbacks.example.com/');
    const { clientId, endpointId } = endpoint;
    await setup.succeed(500);
    await setup.takeOutOfRanges(endpoint);
    await client.query('delete from tiba.callback_outbox');
    await vacuumEmpty(client, 'callback_outbox');
    await setup.succeed(2_000);
    await setup.takeOutOfRanges(endpoint);
    await client.query(
      "update tiba.callback_outbox set next_attempt_at = now() + interval '1 hour' where sequence > 510",
    );
    const replay = { clientId, replayId: 'rp_1', events: { by: 'sequence', first: 1, last: 2_000 } as const };
    const request = { idempotencyKey: 'key', requestSha256: Buffer.alloc(32), createdBy: 'test' };
    await insertRangeReplay(setup.database, { ...replay, ...request, deliveryState: null, endpointIds: [endpointId] });
    const before = await rowsRead(client, ['callback_outbox']);
    const step = { dueMax: 10, eventsMax: 10, callbackDays: 90 };
    const key = { clientId, endpointId, replayId: 'rp_1' };
    for (let look = 0; look < 5; look += 1) assert.equal(await advanceReplay(setup.database, key, step), 'waiting');
    await setup.database.query('select pg_stat_force_next_flush()');
    const { whole, indexed } = await rowsRead(client, ['callback_outbox']);
    const read = whole - before.whole + indexed - before.indexed;
    assert.ok(read < 1_000, `${read} rows were read`);
  } finally {
    await client.end();
    await setup.close();
  }
});

// Regression: until the first statistics, each delivery of a list or of a timeline read all attempts of its endpoint.
test('deliveries are found by their keys before the first statistics', async () => {
  const setup = await setUpDeliveries();
  const client = new pg.Client(setup.testDatabase.connection);
  const tables = ['callback_outbox', 'callback_attempts', 'events'];
  try {
    await client.connect();
    for (const table of tables) await keepFromAutovacuum(client, table);
    const endpoint = await setup.addEndpoint('https://callbacks.example.com/');
    await setup.succeed(2_000);
    for (let batch = 0; batch < 10; batch += 1) {
      const claimed = await claimDeliveries(setup.database, endpoint, { limit: 100, leaseMs: 600_000 });
      await recordResults(setup.database, claimed.map(succeededAttempt), []);
    }
    const read = await entriesReadBy(setup.database, tables, async (own) => {
      const filter = { endpointId: null, state: 'delivered', after: null, limit: 20 } as const;
      const delivered = await listDeliveries(own, endpoint.clientId, filter);
      assert.equal(delivered.length, 20);
      for (const { sequence } of delivered) {
        assert.equal((await listEventDeliveries(own, endpoint.clientId, [sequence])).length, 1);
      }
    });
    // Entries of deleted rows count too, while another test's database transaction might still see them.
    assert.ok(read < 10_000, `${read} entries of indexes were read`);
  } finally {
    await client.end();
    await setup.close();
  }
});

const succeededAttempt = (delivery: ClaimedDelivery): RecordedAttempt => ({
  ...failedAttempt(delivery),
  httpStatus: 200,
  state: 'delivered',
  delayMs: null,
});

const failedAttempt = ({ endpoint, sequence, attempt }: ClaimedDelivery): RecordedAttempt => ({
  clientId: endpoint.clientId,
  endpointId: endpoint.endpointId,
  url: endpoint.url,
  sequence,
  attempt,
  endedMs: performance.now(),
  durationMs: 1,
  httpStatus: 500,
  answer: '',
  error: null,
  state: 'pending',
  delayMs: 3_600_000,
});
