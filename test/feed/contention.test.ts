import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import type { FeedReport } from '../../apps/server/src/feed/report.ts';
import { type Database, DatabaseContended } from '../../apps/server/src/postgres/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { createFreshUpdater } from './fresh-updater.ts';
import { only, outcomesOf, reportOf, statusOf } from './harness.ts';

let service: TestService;
let rival: pg.Client;

before(async () => {
  service = await startTestService({ rails: [] });
  rival = new pg.Client(service.database.connection);
  await rival.connect();
  // PostgreSQL aborts the side that looks for a deadlock first: the feed, also on a busy machine.
  await rival.query("set deadlock_timeout = '1min'");
});
after(async () => {
  await rival?.end();
  await service?.close();
});

/** A statement of a concurrent feed's database transaction. */
const insert = (id: string) =>
  rival.query(
    `insert into tiba.transactions (
       client_id, transaction_id, reference_id, status, amount, fee, currency, bank_code, bank_name, account_number,
       account_name, description, created_at, processed_at, failure_reason, rendered, version, rail, rail_reference,
       reversed_at, expected_by, overdue_since)
     select client_id, $1, $2, status, amount, fee, currency, bank_code, bank_name, account_number, account_name,
            description, created_at, processed_at, failure_reason, rendered, version, rail, rail_reference,
            reversed_at, expected_by, overdue_since
       from tiba.transactions where transaction_id = 'TT0000000000'`,
    [id, `ref ${id}`],
  );

const firstUpdate = (id: string, changes: Record<string, unknown> = {}) =>
  statusUpdate({ transaction_id: id, reference_id: `ref ${id}`, ...changes });

const end = (id: string) =>
  rival.query("update tiba.transactions set status = 'SUCCESS', processed_at = now() where transaction_id = $1", [id]);

const untilFeedIsBlocked = (): Promise<void> =>
  eventually('the feed is blocked by the other', async () => {
    const { rowCount } = await rival.query(
      `select from pg_stat_activity
        where application_name = 'tiba' and wait_event_type = 'Lock' and datname = current_database()`,
    );
    return rowCount !== 0;
  });

suite('a feed that meets a concurrent feed of the same transactions', () => {
  before(async () => {
    assert.equal((await service.feed(firstUpdate('TT0000000000'))).status, 200);
  });

  test('waits for it, and then finds the transaction stored', async () => {
    await rival.query('begin');
    await insert('TT0000000001');
    const feeding = service.feed([firstUpdate('TT0000000001'), firstUpdate('TT0000000001', { status: 'SUCCESS' })]);
    await untilFeedIsBlocked();
    await rival.query('commit');
    assert.deepEqual(reportOf(await feeding), only({ unchanged: 1, advanced: 1 }));
    assert.match(await statusOf(service, 'TT0000000001'), /"status":"SUCCESS"/);
  });

  test('inserts what the other rolled back', async () => {
    await rival.query('begin');
    await insert('TT0000000002');
    const feeding = service.feed([firstUpdate('TT0000000002')]);
    await untilFeedIsBlocked();
    await rival.query('rollback');
    assert.deepEqual(reportOf(await feeding), only({ inserted: 1 }));
  });

  test('that advanced a transaction to another final status reports a conflict', async () => {
    await service.feed(firstUpdate('TT0000000003'));
    await rival.query('begin');
    await rival.query(
      `update tiba.transactions set status = 'FAILED', processed_at = now(), failure_reason = 'closed'
        where transaction_id = 'TT0000000003'`,
    );
    const feeding = service.feed([firstUpdate('TT0000000003', { status: 'SUCCESS' })]);
    await untilFeedIsBlocked();
    await rival.query('commit');
    const { conflicts } = reportOf(await feeding);
    assert.deepEqual(
      conflicts.map(({ reason }) => reason),
      ['status SUCCESS after FAILED: a final status never changes'],
    );
    assert.deepEqual(await outcomesOf(service, 'TT0000000003'), ['inserted', 'conflict']);
  });

  test('that took the reference reports the transaction that has it', async () => {
    await rival.query('begin');
    await insert('TT0000000004');
    const feeding = service.feed([firstUpdate('TT0000000005', { reference_id: 'ref TT0000000004' })]);
    await untilFeedIsBlocked();
    await rival.query('commit');
    const { conflicts } = reportOf(await feeding);
    assert.deepEqual(
      conflicts.map(({ reason }) => reason),
      ['reference_id belongs to the transaction TT0000000004'],
    );
  });

  // A final transaction is in another table, with keys of its own.
  test('that also ended the transaction finds it, and does not create it again', async () => {
    await rival.query('begin');
    await insert('TT0000000008');
    await end('TT0000000008');
    const feeding = service.feed([firstUpdate('TT0000000008'), firstUpdate('TT0000000008', { status: 'SUCCESS' })]);
    await untilFeedIsBlocked();
    await rival.query('commit');
    assert.deepEqual(reportOf(await feeding), only({ unchanged: 2 }));
    const { rowCount } = await rival.query(
      "select from tiba.transactions where transaction_id = 'TT0000000008' or reference_id = 'ref TT0000000008'",
    );
    assert.equal(rowCount, 1);
  });

  test('that took the reference and ended its transaction reports the transaction that has it', async () => {
    await rival.query('begin');
    await insert('TT0000000009');
    await end('TT0000000009');
    const feeding = service.feed([firstUpdate('TT0000000010', { reference_id: 'ref TT0000000009' })]);
    await untilFeedIsBlocked();
    await rival.query('commit');
    const { conflicts } = reportOf(await feeding);
    assert.deepEqual(
      conflicts.map(({ reason }) => reason),
      ['reference_id belongs to the transaction TT0000000009'],
    );
  });

  // Regression: PostgreSQL aborts one side of a deadlock, and the feed answered 503.
  test('and deadlocks with it applies its batch again', async () => {
    await rival.query('begin');
    await insert('TT0000000007');
    const feeding = service.feed([firstUpdate('TT0000000006'), firstUpdate('TT0000000007')]);
    await untilFeedIsBlocked();
    // Now the rival waits too, and PostgreSQL aborts the feed's transaction.
    await insert('TT0000000006');
    await rival.query('commit');
    assert.deepEqual(reportOf(await feeding), only({ unchanged: 2 }));
  });

  test('does not block look-ups', async () => {
    await rival.query('begin');
    await rival.query(
      "select from tiba.transactions where client_id = 'alpha' and transaction_id = 'TT0000000000' for update",
    );
    try {
      const startedMs = performance.now();
      await statusOf(service, 'TT0000000000');
      assert.ok(performance.now() - startedMs < timeLimitMs(1_000));
    } finally {
      await rival.query('rollback');
    }
  });
});

// Regression: six attempts in a few milliseconds met the same rivals, and the feed answered 503.
test('contention that lasts for tens of milliseconds is waited for, with random pauses that grow', async () => {
  const { database } = service.app;
  const pausesOf = async (id: string): Promise<readonly number[]> => {
    const pauses: number[] = [];
    const sum = () => pauses.reduce((total, each) => total + each, 0);
    const contended: Database = {
      ...database,
      transaction: (work, options) =>
        sum() < 50 ? Promise.reject(new DatabaseContended('a rival')) : database.transaction(work, options),
    };
    const pause = async (ms: number): Promise<void> => {
      pauses.push(ms);
    };
    const updater = createFreshUpdater(contended, 0, { pause });
    const { applied } = await updater.apply(firstUpdate(id));
    assert.equal(applied[0]?.outcome, 'inserted');
    return pauses;
  };
  const [pauses, others] = [await pausesOf('TT0000000011'), await pausesOf('TT0000000012')];
  assert.deepEqual(
    pauses,
    pauses.toSorted((one, other) => one - other),
  );
  assert.equal(pauses[0], 0, 'a wrong assumption is no contention');
  assert.notDeepEqual(pauses, others);
});

test('concurrent feeds that create and end the same transactions store each of them once', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `TV${String(index).padStart(10, '0')}`);
  const feeds = Array.from({ length: 12 }, (_, feed) => {
    const rotated = [...ids.slice(feed * 3), ...ids.slice(0, feed * 3)];
    const statuses = feed % 3 === 0 ? ['PROCESS', 'SUCCESS'] : ['SUCCESS'];
    return rotated.flatMap((id) => statuses.map((status) => JSON.stringify(firstUpdate(id, { status })))).join('\n');
  });
  const reports = (await Promise.all(feeds.map((lines) => service.feed(lines)))).map(reportOf);
  const sum = (count: (report: FeedReport) => number) => reports.reduce((total, each) => total + count(each), 0);
  assert.equal(
    sum(({ inserted }) => inserted),
    ids.length,
  );
  assert.equal(
    sum(({ conflicts, rejected }) => conflicts.length + rejected.length),
    0,
  );
  const rows = await service.app.database.query<{ status: string; transactions: number; events: number }>(
    `select status, count(*)::int as transactions,
            (select count(*)::int from tiba.events where starts_with(subject_id, 'TV')) as events
       from tiba.transactions where starts_with(transaction_id, 'TV') group by status`,
  );
  assert.deepEqual(rows, [{ status: 'SUCCESS', transactions: ids.length, events: ids.length }]);
});

test('concurrent feeds of the same transactions store each transaction once and count each update once', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `TU${String(index).padStart(10, '0')}`);
  const feeds = Array.from({ length: 12 }, (_, feed) => {
    const rotated = [...ids.slice(feed * 3), ...ids.slice(0, feed * 3)];
    return rotated.map((id) => JSON.stringify(firstUpdate(id))).join('\n');
  });
  const answers = await Promise.all(feeds.map((lines) => service.feed(lines)));
  const reports = answers.map(reportOf);
  assert.equal(
    reports.reduce((sum, { inserted }) => sum + inserted, 0),
    ids.length,
  );
  assert.equal(
    reports.reduce((sum, { unchanged }) => sum + unchanged, 0),
    ids.length * (feeds.length - 1),
  );
  const [recorded] = await service.app.database.query<{ count: string }>(
    // The clock may mark them overdue in the meantime.
    "select count(*) from tiba.status_updates where starts_with(transaction_id, 'TU') and source = 'core'",
  );
  assert.equal(recorded?.count, String(ids.length * feeds.length));
});
