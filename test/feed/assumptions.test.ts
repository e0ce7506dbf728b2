import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import pino from 'pino';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createFreshUpdater, messagesOf, newId, PROCESSED_AT } from './fresh-updater.ts';

/** What assumptions about stored transactions cost other feeds, other releases and the connection. */

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

// Regression: each waited for what the other had ended, until PostgreSQL aborted one of them after a second.
test('two feeds that end the same transactions in opposite orders do not deadlock', async () => {
  const ids = Array.from({ length: 400 }, newId);
  await createFreshUpdater(service.app.database).apply(...ids.map((id) => messagesOf(id).first));
  const finals = ids.map((id) => messagesOf(id).final);
  const holder = new pg.Client(service.database.connection);
  const watching = new pg.Client(service.database.connection);
  await Promise.all([holder.connect(), watching.connect()]);
  try {
    await holder.query('begin');
    await holder.query("select from tiba.transactions where client_id = 'alpha' and transaction_id = $1 for update", [
      ids[200],
    ]);
    const feeds = [
      createFreshUpdater(service.app.database).apply(...finals),
      createFreshUpdater(service.app.database).apply(...finals.toReversed()),
    ];
    await eventually('both feeds wait', async () => {
      const { rowCount } = await watching.query(
        `select from pg_stat_activity
          where datname = current_database() and application_name = 'tiba' and wait_event_type = 'Lock'`,
      );
      return rowCount === 2;
    });
    await holder.query('commit');
    const results = await Promise.all(feeds);
    assert.deepEqual(
      results.map(({ attempts }) => attempts).sort((one, two) => one - two),
      [1, 2],
      'the second one finds them ended',
    );
    const { rows } = await watching.query<{ deadlocks: string }>(
      'select deadlocks from pg_stat_database where datname = current_database()',
    );
    assert.deepEqual(rows, [{ deadlocks: '0' }]);
  } finally {
    await Promise.all([holder.end(), watching.end()]);
  }
});

// As `deploy/rolling-upgrade` shows with two releases: the next one has a column that this one does not know.
test('an end keeps columns that the next release has added, whether it is assumed or not', async () => {
  const { connection, drop } = await createTestDatabase();
  const database = openDatabase({ connection, connectionsMax: 2, log: pino({ level: 'silent' }) });
  try {
    await insertClient(database, { clientId: 'alpha', name: 'alpha', secretHash: randomBytes(32), scopes: [] });
    const ids = Array.from({ length: 3 }, newId);
    const [assumed = '', overdue = '', isNew = ''] = ids;
    await createFreshUpdater(database).apply(messagesOf(assumed).first, messagesOf(overdue).first);
    await createFreshUpdater(database).markOverdue(new Date('2999-01-01T00:00:00.000Z'));
    await database.query(`update tiba.transactions set version = 1, overdue_since = null where transaction_id = $1`, [
      assumed,
    ]);
    await database.query('alter table tiba.transactions add column settlement_batch text');
    await database.query(`update tiba.transactions set settlement_batch = 'B1'`);
    for (const id of ids) {
      const { applied } = await createFreshUpdater(database).apply(messagesOf(id).final);
      assert.equal(applied[0]?.outcome, id === isNew ? 'inserted' : 'advanced');
    }
    const rows = await database.query<{ id: string }>(
      `select transaction_id as id, status, settlement_batch from tiba.transactions order by transaction_id`,
    );
    assert.deepEqual(
      rows,
      ids.map((id) => ({ id, status: 'SUCCESS', settlement_batch: id === isNew ? null : 'B1' })),
    );
  } finally {
    await database.close();
    await drop();
  }
});

// Regression: the connection was closed, and a new one cost more than the batch.
test('an assumption that was wrong costs no connection', async () => {
  const { connection } = service.database;
  const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  const backend = (): Promise<unknown> => database.query('select pg_backend_pid()');
  try {
    const before = await backend();
    const { first, final } = messagesOf(newId());
    for (const again of [first, { ...final, bank_reference: 'B4' }]) {
      await createFreshUpdater(service.app.database).apply(first);
      assert.equal((await createFreshUpdater(database).apply(again)).attempts, 2);
    }
    assert.deepEqual(await backend(), before);
  } finally {
    await database.close();
  }
});

test('after an end that was not as assumed, eight batches look first', async () => {
  const updater = createFreshUpdater(service.app.database);
  const attemptsOfOne = async (isRight: boolean): Promise<number> => {
    const { first, final } = messagesOf(newId());
    await createFreshUpdater(service.app.database).apply(first);
    return (await updater.apply(isRight ? final : { ...final, bank_reference: 'B3' })).attempts;
  };
  assert.equal(await attemptsOfOne(true), 1);
  assert.equal(await attemptsOfOne(false), 2);
  for (let batch = 0; batch < 8; batch += 1) assert.equal(await attemptsOfOne(false), 1, `batch ${batch}`);
  assert.equal(await attemptsOfOne(false), 2);
});

test('one batch may name transactions in any order, again, and of two clients with one ID', async () => {
  const [earlier, later] = [messagesOf(newId()), messagesOf(newId())];
  const ofBeta = { ...later.first, client_id: 'beta' };
  const failed = { ...ofBeta, status: 'FAILED', failure_reason: 'ACCOUNT_NOT_FOUND', processed_at: PROCESSED_AT };
  const updater = createFreshUpdater(service.app.database);
  const { applied } = await updater.apply(later.first, ofBeta, earlier.first, later.final, earlier.first, failed);
  assert.deepEqual(
    applied.map(({ line, transactionId, outcome }) => [line, transactionId, outcome]),
    [
      [1, later.first['transaction_id'], 'inserted'],
      [2, later.first['transaction_id'], 'inserted'],
      [3, earlier.first['transaction_id'], 'inserted'],
      [4, later.first['transaction_id'], 'advanced'],
      [5, earlier.first['transaction_id'], 'unchanged'],
      [6, later.first['transaction_id'], 'advanced'],
    ],
  );
  const rows = await service.app.database.query(
    `select client_id, transaction_id, status from tiba.transactions
      where transaction_id = any ($1::text[]) order by client_id, transaction_id`,
    [[earlier.first['transaction_id'], later.first['transaction_id']]],
  );
  assert.deepEqual(rows, [
    { client_id: 'alpha', transaction_id: earlier.first['transaction_id'], status: 'PROCESS' },
    { client_id: 'alpha', transaction_id: later.first['transaction_id'], status: 'SUCCESS' },
    { client_id: 'beta', transaction_id: later.first['transaction_id'], status: 'FAILED' },
  ]);
});

test('a transaction that is final already is found among new ones, by its ID alone', async () => {
  const [before, transactionId, after] = [messagesOf(newId()), newId(), messagesOf(newId())];
  const known = messagesOf(transactionId);
  await createFreshUpdater(service.app.database).apply(known.first, known.final);
  const another = { ...known.first, reference_id: `other ${transactionId}` };
  for (const batch of [[before.first, another, after.first], [another]]) {
    const { applied } = await createFreshUpdater(service.app.database).apply(...batch);
    assert.deepEqual(
      applied.find((each) => each.transactionId === transactionId),
      {
        line: batch.indexOf(another) + 1,
        transactionId,
        outcome: 'conflict',
        reason: 'reference_id differs from the first status update',
      },
    );
  }
});
