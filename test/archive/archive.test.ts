import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { listDirectory, readArchiveFile } from '../../apps/server/src/archive/archive-directory.ts';
import { parseArchiveLine } from '../../apps/server/src/archive/archive-line.ts';
import { endOfArchive } from '../../apps/server/src/archive/archive-schedule.ts';
import { restoreArchive } from '../../apps/server/src/archive/restore-archive.ts';
import { isRetentionHeld, listArchiveFiles } from '../../apps/server/src/postgres/archive-files.ts';
import { scanCallbacks } from '../../apps/server/src/postgres/retention/callbacks.ts';
import { scanEvents } from '../../apps/server/src/postgres/retention/events.ts';
import { deleteStatusMessages } from '../../apps/server/src/postgres/retention/status-messages.ts';
import { scanTransactions } from '../../apps/server/src/postgres/retention/transactions.ts';
import { readHistories, type TransactionHistory } from '../../apps/server/src/postgres/transaction-histories.ts';
import { addOwnClient, chooseSeed, feedSuccesses, register } from '../callbacks/endpoints-harness.ts';
import { databaseUrlOf, manage } from '../manage/manage-process.ts';
import { daysEarlier } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startHttpReceiver } from '../support/http-receiver.ts';
import { statusUpdate, type TestClient, type TestService } from '../support/service.ts';
import { type ArchiveSetup, daysAgo, openArchive } from './archive-setup.ts';
import { HELD_LEASE } from './held-lease.ts';
import type { KilledArchive } from './killed-archive.ts';

/** Set it in the environment for a longer run: KILLS=30 npx node --test test/archive/archive.test.ts */
const KILLS = Number(process.env['KILLS'] ?? 3);
const TRANSACTIONS = 93;
const EVENTS_MAX = 25;
const ALL = { clientId: null, month: null };
const PROGRAM = new URL('killed-archive.ts', import.meta.url);

let setup: ArchiveSetup;
let service: TestService;
let sql: ArchiveSetup['sql'];
let directory: string;
before(async () => {
  setup = await openArchive();
  ({ service, sql, directory } = setup);
});
after(() => setup?.close());

/** Transactions that ended in one step or two, conflicts, a reversal, and delivered callbacks; all long ago. */
async function makeHistory(client: TestClient): Promise<string[]> {
  const { clientId } = client;
  const receiver = await startHttpReceiver();
  const { endpointId } = await register(service, { url: receiver.url }, client.token);
  const ids: string[] = [];
  for (const days of [500, 540, 580]) {
    const changes = { client_id: clientId, processed_at: daysAgo(days).toISOString() };
    ids.push(...(await feedSuccesses(service, (TRANSACTIONS - 3) / 3, changes)));
  }
  ids.push(...(await feedSuccesses(service, 1, { client_id: clientId, processed_at: daysAgo(540).toISOString() })));
  const slow = {
    client_id: clientId,
    transaction_id: 'TA0000000001',
    reference_id: 'slow',
    account_number: '0012345678',
  };
  const reversed = { client_id: clientId, transaction_id: 'TA0000000002', reference_id: 'reversed' };
  const ended = { processed_at: daysAgo(520).toISOString() };
  const failed = { client_id: clientId, transaction_id: slow.transaction_id, status: 'FAILED', ...ended };
  for (const update of [
    statusUpdate(slow),
    { ...failed, failure_reason: 'ACCOUNT_BLOCKED' },
    { ...failed, status: 'SUCCESS' },
    statusUpdate({ ...reversed, status: 'SUCCESS', ...ended }),
    { ...reversed, status: 'SUCCESS', reversed_at: daysAgo(510).toISOString() },
  ]) {
    assert.equal((await service.feed(update)).status, 200);
  }
  await eventually('all are delivered', async () => {
    const open = await sql(`select from tiba.callback_deliveries where endpoint_id = $1 and state = 'pending'`, [
      endpointId,
    ]);
    return open.length === 0;
  });
  await receiver.close();
  for (const [table, column] of [
    ['events', 'occurred_at'],
    ['callback_attempts', 'started_at'],
    ['status_messages', 'received_at'],
  ] as const) {
    const aged = `update tiba.${table} set ${column} = ${daysEarlier(column, 500)} where client_id = $1`;
    await sql(aged, [clientId]);
  }
  return [...ids, slow.transaction_id, reversed.transaction_id].sort();
}

const archive = (eventsMax = EVENTS_MAX) => setup.archive({ eventsMax });

/** The transactions of all files, with their histories. */
async function archived(clientId: string): Promise<TransactionHistory[]> {
  const found: TransactionHistory[] = [];
  for await (const file of listArchiveFiles(service.app.database, { clientId, month: null })) {
    for await (const line of readArchiveFile(directory, file)) {
      const history = parseArchiveLine(file, line);
      assert.equal(history.transaction.processedAt?.slice(0, 7), file.month);
      found.push(history);
    }
  }
  return found.sort((one, other) => (one.transaction.transactionId < other.transaction.transactionId ? -1 : 1));
}

async function runUntilKilled(killAt: number | null): Promise<string | null> {
  const options: KilledArchive = {
    connectionString: service.database.connection.connectionString ?? '',
    directory,
    before: daysAgo(60).toISOString(),
    eventsMax: EVENTS_MAX,
    killAt,
  };
  const child = fork(PROGRAM);
  child.send(options);
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  assert.ok(code === 0 || signal === 'SIGKILL', `exit code ${code}`);
  return signal;
}

async function deleteOld(): Promise<void> {
  const { database } = service.app;
  await deleteHistory();
  const transactions = scanTransactions(database, 1_000);
  while ((await transactions.deleteBatch(daysAgo(400))) > 0 || transactions.hasMore());
}

async function deleteHistory(): Promise<void> {
  const { database } = service.app;
  while ((await deleteStatusMessages(database, daysAgo(400), 1_000)) > 0);
  for (const scan of [scanCallbacks(database, 1_000), scanEvents(database, 1_000)]) {
    while ((await scan.deleteBatch(daysAgo(400))) > 0 || scan.hasMore());
  }
}

const statusOf = async (client: TestClient, identifier: string): Promise<string> => {
  const { status, text } = await service.get(`/api/v1/check-status/${identifier}`, { token: client.token });
  // All but the time of the answer.
  return `${status} ${text.replace(/"meta":.*/, '')}`;
};

const statuses = (client: TestClient, ids: readonly string[]): Promise<string[]> =>
  Promise.all(ids.map((id) => statusOf(client, id)));

suite('the archive', () => {
  let client: TestClient;
  let ids: string[];
  let histories: TransactionHistory[];
  let shown: string[];
  before(async () => {
    client = await addOwnClient(service);
    ids = await makeHistory(client);
    histories = await readHistories(service.app.database, client.clientId, ids);
    shown = await statuses(client, ids);
  });

  test(`${KILLS} kills (SIGKILL) at steps of their own lose nothing and double nothing`, async (t) => {
    const seed = chooseSeed();
    t.diagnostic(`seed ${seed}; repeat with FC_SEED=${seed}`);
    // A range takes about 40 steps, and there are four.
    const steps = Array.from({ length: KILLS }, (_, kill) => 5 + (((seed % 9_973) * (kill + 1) * 7_919) % 60));
    const ends = [];
    for (const step of steps) ends.push(await runUntilKilled(step));
    assert.ok(ends.includes('SIGKILL'), `no process was killed at the steps ${steps.join(', ')}`);
    assert.equal(await runUntilKilled(null), null);
    assert.deepEqual(await archived(client.clientId), histories);
    const { faults, unknown, transactions } = await setup.verify();
    assert.deepEqual([faults, unknown, transactions], [[], [], TRANSACTIONS]);
    assert.equal((await archive()).files, 0);
    const [first = ''] = await listDirectory(directory);
    assert.equal((await stat(path.join(directory, first))).mode & 0o777, 0o600);
    const sums = await readFile(path.join(directory, 'SHA256SUMS'), 'utf8');
    assert.equal(sums.trimEnd().split('\n').length, (await listDirectory(directory)).length);
  });

  test('status checks answer byte for byte while the history is in the archive only', async () => {
    const { database } = service.app;
    await deleteHistory();
    // The newest event of a client always stays.
    const kept = await readHistories(database, client.clientId, ids);
    assert.ok(kept.flatMap(({ events }) => events).length <= 1);
    assert.deepEqual(await statuses(client, ids), shown);
    assert.deepEqual(await statuses(client, ['slow', 'reversed']), [
      shown[ids.indexOf('TA0000000001')],
      shown[ids.indexOf('TA0000000002')],
    ]);
  });

  test('what was removed is restored with its whole history, and once however often it is restored', async () => {
    const { database } = service.app;
    await sql('delete from tiba.events where client_id = $1', [client.clientId]);
    await deleteOld();
    assert.match(await statusOf(client, ids[0] ?? ''), /^404 .*TRANSACTION_NOT_FOUND/);
    const environment = { DATABASE_URL: databaseUrlOf(service.database), TIBA_ARCHIVE_DIRECTORY: directory };
    const args = ['archive', 'restore', '--client', client.clientId, '--reason', 'ticket 1', '--json'];
    const { code, stdout, stderr } = await manage(args, { environment });
    assert.equal(code, 0, stderr);
    const { inserted, present, conflicting } = JSON.parse(stdout) as Record<string, unknown>;
    assert.deepEqual([inserted, present, conflicting], [TRANSACTIONS, 0, []]);
    const again = await restoreArchive(
      database,
      directory,
      { clientId: client.clientId, month: null },
      { holdHours: 1, lease: HELD_LEASE, onFile: () => {} },
    );
    assert.deepEqual([again.inserted, again.present], [0, TRANSACTIONS]);
    assert.deepEqual(await readHistories(database, client.clientId, ids), histories);
    assert.deepEqual(await statuses(client, ids), shown);
    const records = `select action, reason, after from tiba.operator_actions where action like 'archive restore%'
                      order by sequence`;
    assert.deepEqual(await sql(records), [
      { action: 'archive restore', reason: 'ticket 1', after: JSON.stringify({ hold_hours: 24 }) },
      {
        action: 'archive restored',
        reason: 'ticket 1',
        after: JSON.stringify({ files: again.files, inserted: TRANSACTIONS }),
      },
    ]);
    assert.ok(await isRetentionHeld(database));
    const released = await manage(['archive', 'release', '--reason', 'ticket 1', '--json'], { environment });
    assert.deepEqual(JSON.parse(released.stdout), { files: again.files }, released.stderr);
    assert.ok(!(await isRetentionHeld(database)));
  });

  test('a damaged and a missing file are named, and nothing of a damaged file is restored', async () => {
    const { database } = service.app;
    const files = await Array.fromAsync(listArchiveFiles(database, ALL));
    const [damaged, missing] = files;
    assert.ok(damaged !== undefined && missing !== undefined);
    const target = path.join(directory, damaged.path);
    const whole = await readFile(target);
    const changed = Buffer.from(whole);
    changed[whole.length - 1] = (whole.at(-1) ?? 0) ^ 1;
    await writeFile(target, changed);
    const lost = path.join(directory, missing.path);
    const other = await readFile(lost);
    await rm(lost);
    const { faults } = await setup.verify();
    assert.deepEqual(faults, [`${damaged.path}: it was changed`, `${missing.path}: it is missing`]);
    await assert.rejects(
      restoreArchive(
        database,
        directory,
        { clientId: client.clientId, month: damaged.month },
        {
          holdHours: 1,
          lease: HELD_LEASE,
          onFile: () => {},
        },
      ),
      /it was changed|it is missing/,
    );
    await writeFile(target, whole);
    await writeFile(lost, other);
    await sql('update tiba.archive_files set held_until = null');
    assert.deepEqual((await setup.verify()).faults, []);
  });
});

test('the retention waits for the archive: what is not archived is not removed', async () => {
  const { database } = service.app;
  const client = await addOwnClient(service);
  await archive();
  await deleteOld();
  await feedSuccesses(service, 4, { client_id: client.clientId });
  await sql(`update tiba.event_sequences set archived_up_to = 0 where client_id = $1`, [client.clientId]);
  await sql(`update tiba.events set occurred_at = ${daysEarlier('occurred_at', 500)} where client_id = $1`, [
    client.clientId,
  ]);
  assert.equal(await scanEvents(database, 100).deleteBatch(daysAgo(400)), 0);
  assert.equal((await archive(3)).transactions, 4);
  assert.equal(await scanEvents(database, 100).deleteBatch(daysAgo(400)), 3);
});

test('a reversal after its transaction was archived is archived as well, and restored as the latest', async () => {
  const { database } = service.app;
  const client = await addOwnClient(service);
  const { clientId } = client;
  const own = { client_id: clientId, transaction_id: 'TA0000000003', reference_id: 'late' };
  const age = (): Promise<unknown> =>
    sql(`update tiba.events set occurred_at = now() - interval '100 days' where client_id = $1`, [clientId]);
  assert.equal((await service.feed(statusUpdate({ ...own, status: 'SUCCESS' }))).status, 200);
  await age();
  assert.equal((await archive()).transactions, 1);
  const reversal = { ...own, status: 'SUCCESS', reversed_at: '2026-11-22T01:00:00Z' };
  assert.equal((await service.feed(reversal)).status, 200);
  await age();
  assert.equal((await archive()).transactions, 1);
  const [latest] = await readHistories(database, clientId, [own.transaction_id]);
  for (const table of ['events', 'other_status_updates', 'transactions']) {
    await sql(`delete from tiba.${table} where client_id = $1`, [clientId]);
  }
  await restoreArchive(
    database,
    directory,
    { clientId, month: null },
    { holdHours: 1, lease: HELD_LEASE, onFile: () => {} },
  );
  assert.deepEqual(await readHistories(database, clientId, [own.transaction_id]), [latest]);
});

test('a month is archived as a whole, when its last day is old enough', () => {
  const end = (time: string): string => endOfArchive(new Date(time), 45).toISOString();
  assert.equal(end('2026-03-17T00:00:00Z'), '2026-01-01T00:00:00.000Z');
  assert.equal(end('2026-03-18T00:00:00Z'), '2026-02-01T00:00:00.000Z');
});
