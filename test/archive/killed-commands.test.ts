import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { readArchiveFile } from '../../apps/server/src/archive/archive-directory.ts';
import { parseArchiveLine } from '../../apps/server/src/archive/archive-line.ts';
import { archiveTransactions } from '../../apps/server/src/archive/archive-transactions.ts';
import { verifyArchive } from '../../apps/server/src/archive/verify-archive.ts';
import { concerns, eraseHistory } from '../../apps/server/src/personal-data/person.ts';
import { listArchiveFiles } from '../../apps/server/src/postgres/archive-files.ts';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import { readHistories, type TransactionHistory } from '../../apps/server/src/postgres/transaction-histories.ts';
import { addOwnClient, chooseSeed, feedSuccesses, openSql, register } from '../callbacks/endpoints-harness.ts';
import { WITHOUT_RETENTION } from '../postgres/retention-harness.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { erase, holderOf, restore } from './commands.ts';
import { fail, HELD_LEASE } from './held-lease.ts';
import type { KilledCommand } from './killed-command.ts';

/**
 * `manage archive restore` and `manage person erase`, killed at any step: run again, each completes what it began. Set
 * KILLS for a longer run: KILLS=30 npx node --test test/archive/killed-commands.test.ts
 */
const KILLS = Number(process.env['KILLS'] ?? 2);
const PROGRAM = new URL('killed-command.ts', import.meta.url);
/** Uses of the database: a restore has about 40, an erasure about 80. */
const STEPS = { restore: 40, erase: 80 } as const;

const NUMBER = '7700112233';
const [REPLACED_NUMBER, OTHERS_NUMBER] = ['7700112234', '7700112235'];
const NUMBERS = [NUMBER, REPLACED_NUMBER, OTHERS_NUMBER];
const MONTHS = [130, 170, 210].map((days) => new Date(Date.now() - days * 86_400_000).toISOString());
const PER_MONTH = 5;
const TRANSACTIONS = PER_MONTH * NUMBERS.length * MONTHS.length;
/** Of an account of another person. */
const OTHERS_HASH = '00'.repeat(16);

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
let directory: string;
let clientId: string;
let ids: string[];
let histories: TransactionHistory[];

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'tiba-killed-'));
  service = await startTestService({ rails: [], settings: WITHOUT_RETENTION });
  sql = await openSql(service);
  ids = await makeRecords();
  histories = await read();
  const { transactions } = await archiveTransactions({
    database: service.app.database,
    directory,
    before: new Date(),
    lease: HELD_LEASE,
    onClientError: fail,
    signal: new AbortController().signal,
    eventsMax: PER_MONTH * NUMBERS.length,
  });
  assert.equal(transactions, TRANSACTIONS);
});
after(async () => {
  await sql?.end();
  await service?.close();
  await rm(directory, { recursive: true, force: true });
});

/** Disbursements to the person and to others in each month, with an attempt of a callback, and checks of accounts. */
async function makeRecords(): Promise<string[]> {
  const client = await addOwnClient(service);
  clientId = client.clientId;
  const { endpointId } = await register(service, { kinds: ['disbursement.overdue'] }, client.token);
  const fed: string[] = [];
  for (const ended of MONTHS) {
    for (const number of NUMBERS) {
      const changes = { client_id: clientId, account_number: number, processed_at: ended };
      fed.push(...(await feedSuccesses(service, PER_MONTH, changes)));
    }
  }
  await sql(
    `insert into tiba.callback_attempts
       (client_id, endpoint_id, sequence, attempt, started_at, duration_ms, http_status, answer)
     select client_id, $2, sequence, 1, occurred_at, 5, 204, 'paid ' || $3 from tiba.events where client_id = $1`,
    [clientId, endpointId, NUMBER],
  );
  await sql(
    `insert into tiba.account_checks (client_id, checked_at, check_id, bic, account_hash, outcome)
     select $1, now(), number, 'CENAIDJA', decode(hash, 'hex'), 'ACTIVE'
       from unnest($2::text[]) with ordinality as k (hash, number)`,
    [clientId, [holderOf(NUMBER).accountHashes[0], OTHERS_HASH]],
  );
  return fed.sort();
}

const read = (): Promise<TransactionHistory[]> => readHistories(service.app.database, clientId, ids);

async function readArchive(): Promise<TransactionHistory[]> {
  const found: TransactionHistory[] = [];
  for await (const file of listArchiveFiles(service.app.database, { clientId, month: null })) {
    for await (const line of readArchiveFile(directory, file)) found.push(parseArchiveLine(file, line));
  }
  return found.sort((one, other) => (one.transaction.transactionId < other.transaction.transactionId ? -1 : 1));
}

async function verifyWhole(database: Database = service.app.database): Promise<void> {
  const { faults, unknown, transactions } = await verifyArchive(
    database,
    directory,
    { clientId: null, month: null },
    () => {},
  );
  assert.deepEqual([faults, unknown, transactions], [[], [], TRANSACTIONS]);
}

async function kill(
  context: TestContext,
  command: Pick<KilledCommand, 'restoredClient' | 'erasedAccount'>,
): Promise<void> {
  const seed = chooseSeed();
  context.diagnostic(`seed ${seed}; repeat with FC_SEED=${seed}`);
  const stepsMax = command.restoredClient === null ? STEPS.erase : STEPS.restore;
  const ends: unknown[] = [];
  for (let count = 1; count <= KILLS; count += 1) {
    const child = fork(PROGRAM);
    child.send({
      ...command,
      connectionString: service.database.connection.connectionString ?? '',
      directory,
      killAt: 1 + (((seed % 9_973) * count * 7_919) % stepsMax),
    } satisfies KilledCommand);
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    assert.ok(code === 0 || signal === 'SIGKILL', `exit code ${code}`);
    ends.push(signal);
    // Also between a file and the one that takes its place.
    await verifyWhole();
  }
  context.diagnostic(`ended by ${ends.join(', ')}`);
}

suite('a command that is killed', () => {
  test('archive restore: run again, it brings back everything, once', async (context) => {
    for (const table of ['callback_attempts', 'events', 'status_messages', 'other_status_updates', 'transactions'])
      await sql(`delete from tiba.${table} where client_id = $1`, [clientId]);
    assert.deepEqual(await read(), []);
    await kill(context, { restoredClient: clientId, erasedAccount: null });
    const { inserted, present, conflicting } = await restore({ database: service.app.database, directory }, clientId);
    assert.deepEqual([inserted + present, conflicting], [TRANSACTIONS, []]);
    assert.deepEqual(await read(), histories);
  });

  test('archive verify finds no fault in files that an erasure replaces meanwhile', async () => {
    const { database } = service.app;
    let begun: Promise<unknown> | undefined;
    // The files are listed, and replaced before the first one is read.
    const interrupted: Database = {
      ...database,
      async query(text: string, values?: readonly unknown[], name?: string) {
        const rows = await database.query(text, values, name);
        if (text.includes(`state = 'written' and (client_id, path)`)) {
          begun ??= erase({ database, directory }, REPLACED_NUMBER);
          await begun;
        }
        return rows as never[];
      },
    };
    await verifyWhole(interrupted);
    assert.ok(begun !== undefined);
    histories = await read();
    assert.ok(histories.some(({ transaction }) => transaction.accountNumber === 'ERASED'));
  });

  test('person erase: run again, it erases the rest, and nothing of anyone else', async (context) => {
    const person = holderOf(NUMBER);
    const expected = histories.map((each) => (concerns(person, each) ? eraseHistory(person, each) : each));
    assert.notDeepEqual(expected, histories);
    await kill(context, { restoredClient: null, erasedAccount: NUMBER });
    const { left } = await erase({ database: service.app.database, directory }, NUMBER);
    assert.deepEqual(left, []);
    assert.deepEqual(await read(), expected);
    assert.deepEqual(await readArchive(), expected);
    const again = await erase({ database: service.app.database, directory }, NUMBER);
    assert.deepEqual(again, {
      transactions: 0,
      validationRows: 0,
      accountChecks: 0,
      archivedTransactions: 0,
      archiveFiles: 0,
      left: [],
    });
    const checks = await sql(`select encode(account_hash, 'hex') as hash from tiba.account_checks order by check_id`);
    assert.equal(checks.length, 2);
    assert.notEqual(checks[0]?.['hash'], person.accountHashes[0]);
    assert.equal(checks[1]?.['hash'], OTHERS_HASH);
    await verifyWhole();
    // Regression: what a killed command had written of the checksums stayed in the directory.
    assert.deepEqual((await readdir(directory)).filter((name) => /^[A-Z]/.test(name)).sort(), [
      'SHA256SUMS',
      'TIBA_ARCHIVE',
    ]);
  });
});
