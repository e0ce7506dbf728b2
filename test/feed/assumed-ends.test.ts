import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import pino from 'pino';
import { parseUpdate } from '../../apps/server/src/feed/parse-update.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { type Database, openDatabase } from '../../apps/server/src/postgres/database.ts';
import { listEvents } from '../../apps/server/src/postgres/events.ts';
import type { AppliedUpdate } from '../../apps/server/src/transactions/decide.ts';
import { createTransactionUpdater } from '../../apps/server/src/transactions/transaction-updater.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, statusUpdate, type TestService, testBanks } from '../support/service.ts';

/**
 * An update that ends a transaction and says everything about it is taken at its word, without a look
 * (docs/decisions/0059). Here it is the first one of an updater, which therefore assumes it.
 */

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

type Message = Readonly<Record<string, unknown>>;

/** An updater that was never wrong. Counts its database transactions: one that was wrong is repeated. */
function createFreshUpdater(versionFloor = 0, database: Database = service.app.database) {
  let attempts = 0;
  const updater = createTransactionUpdater({
    database: {
      ...database,
      transaction(work, options) {
        attempts += 1;
        return database.transaction(work, options);
      },
    },
    expectedMs: () => 1_800_000,
    firstInquiryMs: 5_000,
    now: Date.now,
    versionFloor: () => versionFloor,
  });
  return {
    async apply(...messages: readonly Message[]): Promise<{ applied: AppliedUpdate[]; attempts: number }> {
      const earlier = attempts;
      const applied = await updater.apply(
        messages.map((message, index) => ({
          line: index + 1,
          source: 'core',
          raw: JSON.stringify(message),
          update: parseUpdate(message, testBanks),
        })),
      );
      return { applied, attempts: attempts - earlier };
    },
    markOverdue: (now: Date) => updater.markOverdue(now, 1_000),
  };
}

let created = 0;
const newId = (): string => `TE${String((created += 1)).padStart(10, '0')}`;

// The service would mark older transactions overdue.
const CREATED_AT = new Date().toISOString();
const PROCESSED_AT = new Date(Date.parse(CREATED_AT) + 5_000).toISOString();

/** The first message of a transaction and its final one, which say the same of it. */
function messagesOf(id: string): { first: Message; final: Message } {
  const first = statusUpdate({
    transaction_id: id,
    reference_id: `ref ${id}`,
    fee: '2500.00',
    description: 'Refund',
    created_at: CREATED_AT,
  });
  return { first, final: { ...first, status: 'SUCCESS', processed_at: PROCESSED_AT } };
}

/** Stores `first`, and applies `final`. */
async function end(first: Message, final: Message) {
  await createFreshUpdater().apply(first);
  const { applied, attempts } = await createFreshUpdater().apply(final);
  const [{ outcome, reason } = { outcome: null, reason: null }] = applied;
  return { outcome, reason, attempts };
}

interface StoredRow extends Record<string, unknown> {
  status: string;
  version: number;
  processed_at: Date | null;
  rail: string | null;
  bank_reference: string | null;
  inserted: boolean;
  advanced: boolean;
  events: number;
}

async function stored(id: string): Promise<StoredRow | undefined> {
  const [row] = await service.app.database.query<StoredRow>(
    `select t.status, t.version, t.processed_at, t.rail, t.bank_reference, t.inserted_by is not null as inserted,
            t.advanced_by is not null as advanced,
            (select count(*)::integer from tiba.events v where v.subject_id = t.transaction_id) as events
       from tiba.transactions t where t.transaction_id = $1`,
    [id],
  );
  return row;
}

test('an end that says what is stored is applied at once', async () => {
  const id = newId();
  const { first, final } = messagesOf(id);
  assert.deepEqual(await end(first, final), { outcome: 'advanced', reason: null, attempts: 1 });
  assert.deepEqual(await stored(id), {
    status: 'SUCCESS',
    version: 2,
    processed_at: new Date(PROCESSED_AT),
    rail: null,
    bank_reference: null,
    inserted: true,
    advanced: true,
    events: 1,
  });
  const answer = await service.get(`/api/v1/check-status/${id}`);
  assert.match(answer.text, /"status":"SUCCESS".*"amount":150000\.00,"fee":2500\.00,"total_amount":152500\.00/);
});

suite('an end that says something else is decided with a look: a conflict, and nothing changes', () => {
  const others: Readonly<Record<string, Message>> = {
    reference_id: { reference_id: 'another' },
    amount: { amount: '150000.01' },
    fee: { fee: '2500.01' },
    currency: { currency: 'USD' },
    bank_code: { bank_code: '008' },
    bank_name: { bank_name: 'Another Bank' },
    account_number: { account_number: '1234567891' },
    account_name: { account_name: 'ANOTHER NAME' },
    description: { description: 'Refunds' },
    created_at: { created_at: '2026-11-21T04:32:26.124Z' },
  };
  for (const [field, changes] of Object.entries(others)) {
    test(field, async () => {
      const id = newId();
      const { first, final } = messagesOf(id);
      const { outcome, reason, attempts } = await end(first, { ...final, ...changes });
      assert.deepEqual({ outcome, attempts }, { outcome: 'conflict', attempts: 2 });
      assert.match(String(reason), /differs from the first status update$/);
      assert.equal((await stored(id))?.status, 'PROCESS');
    });
  }

  test('rail_reference', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    const rail = { rail: 'bank-one', rail_reference: 'R1' };
    const { outcome, attempts } = await end({ ...first, ...rail }, { ...final, ...rail, rail_reference: 'R2' });
    assert.deepEqual({ outcome, attempts }, { outcome: 'conflict', attempts: 2 });
  });

  test('of a transaction that has another final status', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    await end(first, final);
    const failed = { ...final, status: 'FAILED', failure_reason: 'ACCOUNT_CLOSED' };
    const { outcome, attempts } = await end(first, failed);
    assert.deepEqual({ outcome, attempts }, { outcome: 'conflict', attempts: 2 });
    assert.equal((await stored(id))?.status, 'SUCCESS');
  });
});

suite('an end is decided with a look, and applied,', () => {
  test('when nothing is stored', async () => {
    const id = newId();
    const { applied, attempts } = await createFreshUpdater().apply(messagesOf(id).final);
    assert.deepEqual([applied[0]?.outcome, attempts], ['inserted', 2]);
    assert.equal((await stored(id))?.events, 1);
  });

  test('when it leaves out what the core has told before', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    const known = { ...first, rail: 'bank-one', rail_reference: `R${id}`, bank_reference: 'B1' };
    assert.deepEqual(await end(known, final), { outcome: 'advanced', reason: null, attempts: 2 });
    const row = await stored(id);
    assert.deepEqual([row?.status, row?.rail, row?.bank_reference], ['SUCCESS', 'bank-one', 'B1']);
  });

  for (const [field, value, other] of [
    ['source_account_number', '1234567890', '1234567899'],
    ['service_code', '18', '17'],
    ['external_id', 'X1', 'X2'],
    ['bank_reference', 'B1', 'B2'],
  ] as const) {
    test(`when ${field} is stored, and left out or different`, async () => {
      for (const given of [undefined, other]) {
        const id = newId();
        const { first, final } = messagesOf(id);
        const { outcome, reason, attempts } = await end({ ...first, [field]: value }, { ...final, [field]: given });
        assert.deepEqual({ outcome, attempts }, { outcome: 'advanced', attempts: 2 });
        assert.equal(reason === null, given === undefined, String(reason));
        const [row] = await service.app.database.query<Record<string, unknown>>(
          `select ${field} as value from tiba.transactions where transaction_id = $1`,
          [id],
        );
        assert.equal(row?.['value'], value);
      }
    });
  }

  test('when it adds something', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    assert.equal((await end(first, { ...final, bank_reference: 'B2' })).attempts, 2);
    assert.equal((await stored(id))?.bank_reference, 'B2');
  });

  test('when the transaction was overdue', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    await createFreshUpdater().apply(first);
    await createFreshUpdater().markOverdue(new Date('2999-01-01T00:00:00.000Z'));
    const { applied, attempts } = await createFreshUpdater().apply(final);
    assert.deepEqual([applied[0]?.outcome, attempts], ['advanced', 2]);
    const row = await stored(id);
    assert.deepEqual([row?.version, row?.events], [3, 2]);
  });

  // The version that it gets then is the one that a transaction of the time after the restore begins with.
  test('when the transaction became overdue after a restore: its overdue event still shows it in PROCESS', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    await createFreshUpdater().apply(first);
    await createFreshUpdater(1_000).markOverdue(new Date('2999-01-01T00:00:00.000Z'));
    const { applied, attempts } = await createFreshUpdater(1_000).apply(final);
    assert.deepEqual([applied[0]?.outcome, attempts], ['advanced', 2]);
    const events = await listEvents(service.app.database, 'alpha', { after: 0, limit: 1_000 });
    assert.deepEqual(
      events
        .filter(({ subjectId }) => subjectId === id)
        .map(({ kind, version, data }) => [kind, version, /"status":"(\w+)"/.exec(data)?.[1]]),
      [
        ['disbursement.overdue', 1_001, 'PROCESS'],
        ['disbursement.succeeded', 1_002, 'SUCCESS'],
      ],
    );
    const [row] = await service.app.database.query<{ overdue: boolean }>(
      'select overdue_since is not null as overdue from tiba.transactions where transaction_id = $1',
      [id],
    );
    assert.equal(row?.overdue, true);
  });

  test('when its batch has another update of the transaction', async () => {
    const id = newId();
    const { first, final } = messagesOf(id);
    await createFreshUpdater().apply(first);
    const reversed = { ...final, reversed_at: new Date(Date.parse(CREATED_AT) + 60_000).toISOString() };
    const { applied, attempts } = await createFreshUpdater().apply(final, reversed);
    assert.deepEqual([applied.map(({ outcome }) => outcome), attempts], [['advanced', 'reversed'], 1]);
    assert.deepEqual([(await stored(id))?.version, (await stored(id))?.events], [3, 2]);
  });
});

// Regression: it was a conflict with what was assumed, whatever was stored.
test('an end whose total is wrong is judged by what is stored, if anything is', async () => {
  const wrong = { total_amount: '1.00' };
  const unknown = messagesOf(newId());
  const { applied } = await createFreshUpdater().apply({ ...unknown.final, ...wrong });
  assert.deepEqual(
    applied.map(({ outcome, reason }) => [outcome, reason]),
    [['rejected', 'total_amount must be amount + fee']],
  );
  const known = messagesOf(newId());
  const { outcome, reason } = await end(known.first, { ...known.final, amount: '7.00', ...wrong });
  assert.deepEqual([outcome, reason], ['conflict', 'amount differs from the first status update']);
});

// Regression: each waited for what the other had ended, until PostgreSQL aborted one of them after a second.
test('two feeds that end the same transactions in opposite orders do not deadlock', async () => {
  const ids = Array.from({ length: 400 }, newId);
  await createFreshUpdater().apply(...ids.map((id) => messagesOf(id).first));
  const finals = ids.map((id) => messagesOf(id).final);
  const holder = new pg.Client(service.database.connection);
  const watching = new pg.Client(service.database.connection);
  await Promise.all([holder.connect(), watching.connect()]);
  try {
    await holder.query('begin');
    await holder.query('select from tiba.transactions where transaction_id = $1 for update', [ids[200]]);
    const feeds = [createFreshUpdater().apply(...finals), createFreshUpdater().apply(...finals.toReversed())];
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

test('what an end says of its rail is compared too', async () => {
  const id = newId();
  const { first, final } = messagesOf(id);
  const rail = { rail: 'bank-one', rail_reference: `R${id}` };
  assert.deepEqual(await end({ ...first, ...rail }, { ...final, ...rail }), {
    outcome: 'advanced',
    reason: null,
    attempts: 1,
  });
});

test('a reversal that comes with the end is applied at once', async () => {
  const id = newId();
  const { first, final } = messagesOf(id);
  assert.equal(
    (await end(first, { ...final, reversed_at: new Date(Date.parse(CREATED_AT) + 60_000).toISOString() })).attempts,
    1,
  );
  assert.deepEqual([(await stored(id))?.version, (await stored(id))?.events], [3, 2]);
});

test('one end of a batch that is not as assumed: the batch is applied again, each update once', async () => {
  const ids = Array.from({ length: 20 }, newId);
  const updater = createFreshUpdater();
  await updater.apply(...ids.map((id) => messagesOf(id).first));
  const finals = ids.map((id, index) => ({ ...messagesOf(id).final, ...(index === 7 ? { amount: '1.00' } : {}) }));
  const { applied, attempts } = await updater.apply(...finals);
  assert.equal(attempts, 2);
  assert.deepEqual(
    applied.map(({ outcome }) => outcome),
    ids.map((_, index) => (index === 7 ? 'conflict' : 'advanced')),
  );
  for (const [index, id] of ids.entries()) assert.equal((await stored(id))?.events, index === 7 ? 0 : 1, id);
});

// As `deploy/rolling-upgrade` shows with two releases: the next one has a column that this one does not know.
test('an end keeps columns that the next release has added, whether it is assumed or not', async () => {
  const { connection, drop } = await createTestDatabase();
  const database = openDatabase({ connection, connectionsMax: 2, log: pino({ level: 'silent' }) });
  try {
    await insertClient(database, { clientId: 'alpha', name: 'alpha', secretHash: randomBytes(32), scopes: [] });
    const ids = Array.from({ length: 3 }, newId);
    const [assumed = '', overdue = '', isNew = ''] = ids;
    await createFreshUpdater(0, database).apply(messagesOf(assumed).first, messagesOf(overdue).first);
    await createFreshUpdater(0, database).markOverdue(new Date('2999-01-01T00:00:00.000Z'));
    await database.query(`update tiba.transactions set version = 1, overdue_since = null where transaction_id = $1`, [
      assumed,
    ]);
    await database.query('alter table tiba.transactions add column settlement_batch text');
    await database.query(`update tiba.transactions set settlement_batch = 'B1'`);
    for (const id of ids) {
      const { applied } = await createFreshUpdater(0, database).apply(messagesOf(id).final);
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
      await createFreshUpdater().apply(first);
      assert.equal((await createFreshUpdater(0, database).apply(again)).attempts, 2);
    }
    assert.deepEqual(await backend(), before);
  } finally {
    await database.close();
  }
});

test('after an end that was not as assumed, eight batches look first', async () => {
  const updater = createFreshUpdater();
  const attemptsOfOne = async (isRight: boolean): Promise<number> => {
    const { first, final } = messagesOf(newId());
    await createFreshUpdater().apply(first);
    return (await updater.apply(isRight ? final : { ...final, bank_reference: 'B3' })).attempts;
  };
  assert.equal(await attemptsOfOne(true), 1);
  assert.equal(await attemptsOfOne(false), 2);
  for (let batch = 0; batch < 8; batch += 1) assert.equal(await attemptsOfOne(false), 1, `batch ${batch}`);
  assert.equal(await attemptsOfOne(false), 2);
});
