import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { readArchiveFile } from '../../apps/server/src/archive/archive-directory.ts';
import { parseArchiveLine } from '../../apps/server/src/archive/archive-line.ts';
import { type ErasureResult, erasePerson } from '../../apps/server/src/personal-data/erase-person.ts';
import { exportPerson } from '../../apps/server/src/personal-data/export-person.ts';
import { createPerson, type Person } from '../../apps/server/src/personal-data/person.ts';
import { endArchive, listArchiveFiles } from '../../apps/server/src/postgres/archive-files.ts';
import type { Database, Query } from '../../apps/server/src/postgres/database.ts';
import { readHistories, type TransactionHistory } from '../../apps/server/src/postgres/transaction-histories.ts';
import { type ArchiveSetup, daysAgo, openArchive } from '../archive/archive-setup.ts';
import { HELD_LEASE } from '../archive/held-lease.ts';
import { daysEarlier } from '../support/database.ts';
import { statusUpdate, testBanks } from '../support/service.ts';

const PAST = daysAgo(4_000).toISOString();

let setup: ArchiveSetup;
let database: Database;

before(async () => {
  setup = await openArchive();
  database = setup.service.app.database;
});
after(() => setup?.close());

/** A disbursement that ended before the legal hold. */
const paid = (id: string, changes: Record<string, unknown>): Record<string, unknown> =>
  statusUpdate({
    transaction_id: id,
    reference_id: id,
    status: 'SUCCESS',
    created_at: PAST,
    processed_at: PAST,
    ...changes,
  });

type FeedOutcome = 'advanced' | 'conflict' | 'inserted' | 'unchanged';

async function feed(update: Record<string, unknown>, outcome: FeedOutcome): Promise<void> {
  const { status, json } = await setup.service.feed(update);
  assert.equal(status, 200, JSON.stringify(json));
  const count = json.data?.[outcome === 'conflict' ? 'conflicts' : outcome];
  assert.equal(Array.isArray(count) ? count.length : count, 1, JSON.stringify(json));
}

interface ErasureOptions {
  readonly bankCode?: string;
  readonly over?: Database;
  readonly directory?: string | null;
}

const personOf = (accountNumber: string, bankCode?: string): Person =>
  createPerson(accountNumber, bankCode === undefined ? null : testBanks.find(bankCode), {
    banks: testBanks,
    dataKey: Buffer.alloc(32, 7),
  });

/** The legal hold is ten years. */
const erase = (
  accountNumber: string,
  { bankCode, over = database, directory = null }: ErasureOptions = {},
): Promise<ErasureResult> =>
  erasePerson({
    database: over,
    person: personOf(accountNumber, bankCode),
    directory,
    holdBefore: daysAgo(3_650),
    isDryRun: false,
    lease: HELD_LEASE,
    print: () => {},
  });

async function read(id: string): Promise<TransactionHistory> {
  const [history] = await readHistories(database, 'alpha', [id]);
  assert.ok(history !== undefined);
  return history;
}

const payeeOf = ({ transaction }: TransactionHistory): string[] => [transaction.accountNumber, transaction.accountName];

/** Number, name and description of each message. */
const messagesOf = ({ statusUpdates }: TransactionHistory): unknown[][] =>
  statusUpdates.map(({ raw }) => {
    const fields = JSON.parse(raw ?? '{}') as Record<string, unknown>;
    return [fields['account_number'], fields['account_name'], fields['description']];
  });

const counts = ({ transactions, left }: ErasureResult): number[] => [transactions, left.length];

suite('nothing of another person is erased', () => {
  /** Regression: a conflict about the number at another bank, which is another person's, erased that person. */
  test('who has the same number at another bank, with a conflict', async () => {
    const number = '7700110001';
    const mandiri = { account_number: number, account_name: 'RINA OTHER', bank_code: '008' };
    await feed(paid('TPE000000001', mandiri), 'inserted');
    await feed(paid('TPE000000001', { ...mandiri, amount: '150000.01' }), 'conflict');
    const asFed = await read('TPE000000001');
    assert.deepEqual(counts(await erase(number, { bankCode: '014' })), [0, 0]);
    assert.deepEqual(await read('TPE000000001'), asFed);
    assert.deepEqual(counts(await erase(number, { bankCode: '008' })), [1, 0]);
    assert.deepEqual(payeeOf(await read('TPE000000001')), ['ERASED', 'ERASED']);
  });

  /** Regression: only the conflict is about the person, and the transaction at another bank was erased with it. */
  test('whose transaction has a conflict that is about the person', async () => {
    const number = '7700110002';
    const holder = { account_number: number, account_name: 'RINA OTHER', bank_code: '008', description: 'To RINA' };
    await feed(paid('TPE000000002', holder), 'inserted');
    const person = { bank_code: '014', account_name: 'DEWI', description: `To DEWI ${number}` };
    await feed(paid('TPE000000002', { ...holder, ...person }), 'conflict');
    assert.deepEqual(counts(await erase(number, { bankCode: '014' })), [1, 0]);
    const history = await read('TPE000000002');
    assert.deepEqual(payeeOf(history), [number, 'RINA OTHER']);
    assert.deepEqual(messagesOf(history), [
      [number, 'RINA OTHER', 'To RINA'],
      ['ERASED', 'ERASED', 'To ERASED ERASED'],
    ]);
    assert.deepEqual(counts(await erase(number, { bankCode: '014' })), [0, 0]);
  });

  /** Regression: a conflict with the number in its description erased the name of the holder of the account. */
  test('whose conflict names the number in its description: only the number is erased', async () => {
    const number = '7700110003';
    const holder = { account_number: '9900000001', account_name: 'RINA OTHER' };
    await feed(paid('TPE000000003', holder), 'inserted');
    await feed(paid('TPE000000003', { ...holder, amount: '1.00', description: `instead of ${number}` }), 'conflict');
    assert.deepEqual(counts(await erase(number)), [1, 0]);
    const history = await read('TPE000000003');
    assert.deepEqual(payeeOf(history), ['9900000001', 'RINA OTHER']);
    assert.deepEqual(messagesOf(history), [
      ['9900000001', 'RINA OTHER', 'Refund'],
      ['9900000001', 'RINA OTHER', 'instead of ERASED'],
    ]);
    assert.deepEqual(counts(await erase(number)), [0, 0]);
  });

  /** Regression: the name of the person was erased from the name of the holder, which became ERASED RAHAYU. */
  test('who has the same name, in a transaction with a conflict that is about the person', async () => {
    const number = '7700110004';
    const holder = { account_number: '9900000002', account_name: 'SITI RAHAYU', description: 'To DEWI, not SITI' };
    await feed(paid('TPE000000004', holder), 'inserted');
    for (const name of ['SITI', 'DEWI']) {
      await feed(paid('TPE000000004', { ...holder, account_number: number, account_name: name }), 'conflict');
    }
    assert.deepEqual(counts(await erase(number)), [1, 0]);
    const history = await read('TPE000000004');
    assert.deepEqual(payeeOf(history), ['9900000002', 'SITI RAHAYU']);
    assert.equal(history.transaction.description, 'To ERASED, not SITI');
    assert.deepEqual(messagesOf(history), [
      ['9900000002', 'SITI RAHAYU', 'To ERASED, not SITI'],
      ['ERASED', 'ERASED', 'To ERASED, not ERASED'],
      ['ERASED', 'ERASED', 'To ERASED, not ERASED'],
    ]);
  });
});

suite('all of the person is erased', () => {
  /** Regression: the name stayed, because such a conflict does not repeat the number. */
  test('from a conflict that has another name only, and from one that has another bank only', async () => {
    const number = '7700110005';
    const person = { account_number: number, account_name: 'DEWI PUTRI', bank_code: '014' };
    const id = 'TPE000000005';
    await feed(paid(id, person), 'inserted');
    const { client_id, transaction_id } = paid(id, {});
    await feed({ client_id, transaction_id, status: 'SUCCESS', account_name: 'D. PUTRI' }, 'conflict');
    await feed(paid(id, { ...person, bank_code: '008', description: 'for D. PUTRI' }), 'conflict');
    assert.deepEqual(counts(await erase(number, { bankCode: '014' })), [1, 0]);
    assert.deepEqual(messagesOf(await read(id)), [
      ['ERASED', 'ERASED', 'Refund'],
      [undefined, 'ERASED', undefined],
      ['ERASED', 'ERASED', 'for ERASED'],
    ]);
    assert.deepEqual(counts(await erase(number, { bankCode: '014' })), [0, 0]);
  });
});

/** Regression: the stored name was erased, and its message kept it. */
suite('a name that is stored in another form than it was sent', () => {
  const forms = [
    ['decomposed', '7700110009', 'JOS\u00c9 REN\u00c9'.normalize('NFD')],
    ['with controls of the writing direction', '7700110010', 'SITI \u202aRAHAYU\u202c'],
  ] as const;
  for (const [form, number, name] of forms) {
    test(`${form}: it is erased from its messages, and from those that come later`, async () => {
      const id = `TPE${number}`;
      const person = { account_number: number, account_name: name, description: `To ${name} cafe\u0301` };
      await feed(paid(id, person), 'inserted');
      assert.deepEqual(counts(await erase(number)), [1, 0]);
      assert.deepEqual(payeeOf(await read(id)), ['ERASED', 'ERASED']);
      await feed(paid(id, { ...person, reversed_at: new Date().toISOString() }), 'advanced');
      const message = ['ERASED', 'ERASED', 'To ERASED cafe\u0301'];
      assert.deepEqual(messagesOf(await read(id)), [message, message]);
    });
  }

  test('also the name of a conflict, and the same name in another form', async () => {
    const number = '7700110011';
    const name = 'JOS\u00c9 REN\u00c9';
    await feed(paid('TPE000000011', { account_number: '9900000003' }), 'inserted');
    const conflict = { account_number: number, account_name: name.normalize('NFD'), description: `To ${name}` };
    await feed(paid('TPE000000011', conflict), 'conflict');
    assert.deepEqual(counts(await erase(number)), [1, 0]);
    const [, message] = messagesOf(await read('TPE000000011'));
    assert.deepEqual(message, ['ERASED', 'ERASED', 'To ERASED']);
  });
});

suite('an update that the core feeds while the person is erased', () => {
  const reversal = { reversed_at: new Date().toISOString() };

  /** Calls `feedOne` after the transactions were found, and before they are erased. */
  const beforeErasing = (feedOne: () => Promise<void>): Database => {
    let fed: Promise<void> | undefined;
    return {
      ...database,
      async transaction(work, options) {
        await (fed ??= feedOne());
        return database.transaction(work, options);
      },
    };
  };

  /** Regression: the transaction was erased, and the message of the reversal kept number and name. */
  test('reverses a transaction: it is under the legal hold, and stays as it is', async () => {
    const number = '7700110006';
    const person = { account_number: number, account_name: 'DEWI PUTRI' };
    await feed(paid('TPE000000006', person), 'inserted');
    const over = beforeErasing(() => feed(paid('TPE000000006', { ...person, ...reversal }), 'advanced'));
    const { transactions, left } = await erase(number, { over });
    assert.equal(transactions, 0);
    const kept = { where: 'transactions', client_id: 'alpha', id: 'TPE000000006', reason: 'under the legal hold' };
    assert.deepEqual(left, [kept]);
    const history = await read('TPE000000006');
    assert.deepEqual(payeeOf(history), [number, 'DEWI PUTRI']);
    assert.deepEqual(messagesOf(history), [
      [number, 'DEWI PUTRI', 'Refund'],
      [number, 'DEWI PUTRI', 'Refund'],
    ]);
  });

  /** Regression: the messages kept number and name, and a second command did not find the transaction. */
  test('repeats a transaction, or contradicts it: its message is erased too', async () => {
    const number = '7700110007';
    const person = { account_number: number, account_name: 'DEWI PUTRI' };
    await feed(paid('TPE000000007', person), 'inserted');
    const { account_number: _, ...conflict } = paid('TPE000000007', { account_name: 'D. PUTRI' });
    const over = beforeErasing(async () => {
      await feed(paid('TPE000000007', person), 'unchanged');
      await feed(conflict, 'conflict');
    });
    assert.deepEqual(counts(await erase(number, { over })), [1, 0]);
    const message = ['ERASED', 'ERASED', 'Refund'];
    assert.deepEqual(messagesOf(await read('TPE000000007')), [message, message, [undefined, 'ERASED', 'Refund']]);
  });

  /** Begins to feed when the erasure has locked its transaction. */
  const onceLocked = (feedOne: () => Promise<void>) => {
    let fed: Promise<void> | undefined;
    let isErased = false;
    const over: Database = {
      ...database,
      transaction: async (work, options) => {
        const result = await database.transaction((query) => {
          const run = async (...args: Parameters<Query>) => {
            const answer = await query(...args);
            // It ended: the look among those in PROCESS, before this one, locks nothing.
            if (/transactions_final[^]*for no key update/.test(args[0])) {
              fed ??= feedOne().then(() =>
                assert.ok(isErased, 'it was applied while its transaction was being erased'),
              );
            }
            return answer as never;
          };
          return work(Object.assign(run, { copy: query.copy }));
        }, options);
        isErased = true;
        return result;
      },
    };
    return { over, fed: () => fed };
  };

  test('waits for the erasure of its transaction, and is then stored erased', async () => {
    const number = '7700110008';
    const person = { account_number: number, account_name: 'DEWI PUTRI' };
    await feed(paid('TPE000000008', person), 'inserted');
    const { over, fed } = onceLocked(() => feed(paid('TPE000000008', { ...person, ...reversal }), 'advanced'));
    assert.deepEqual(counts(await erase(number, { over })), [1, 0]);
    await fed();
    const history = await read('TPE000000008');
    assert.notEqual(history.transaction.reversedAt, null);
    const message = ['ERASED', 'ERASED', 'Refund'];
    assert.deepEqual(messagesOf(history), [message, message]);
  });

  /** Regression: the message was stored with number and name, because its own transaction is unknown. */
  test('as another transaction with its reference: it waits for the erasure too, and is stored erased', async () => {
    const number = '7700110013';
    const id = 'TPE000000013';
    const person = { account_number: number, account_name: 'DEWI PUTRI', description: 'To DEWI PUTRI' };
    await feed(paid(id, person), 'inserted');
    const other = (otherId: string) => paid(otherId, { ...person, reference_id: id });
    const { over, fed } = onceLocked(() => feed(other('TPE000000113'), 'conflict'));
    assert.deepEqual(counts(await erase(number, { over })), [1, 0]);
    await fed();
    await feed(other('TPE000000213'), 'conflict');
    const message = ['ERASED', 'ERASED', 'To ERASED'];
    assert.deepEqual(messagesOf(await read(id)), [message, message, message]);
    assert.deepEqual(counts(await erase(number)), [0, 0]);
  });
});

/** Regression: a line of the archive was only read if it had the number without anything between its digits. */
test('a number with dashes in an archived conflict is erased from the file too', async () => {
  const number = '7700110012';
  const id = 'TPE000000012';
  await feed(paid(id, { account_number: '9900000004' }), 'inserted');
  const description = 'instead of 7700-110-012, 77\u200e00 110012';
  await feed(paid(id, { account_number: '9900000004', amount: '1.00', description }), 'conflict');
  await setup.sql(`update tiba.events set occurred_at = ${daysEarlier('occurred_at', 100)}`);
  assert.ok((await setup.archive()).transactions > 0);
  const { directory } = setup;
  const { transactions, archivedTransactions, archiveFiles } = await erase(number, { directory });
  assert.deepEqual([transactions, archivedTransactions, archiveFiles], [1, 1, 1]);
  const messages: unknown[][] = [];
  for await (const file of listArchiveFiles(database, { clientId: null, month: null })) {
    for await (const line of readArchiveFile(directory, file)) {
      const history = parseArchiveLine(file, line);
      if (history.transaction.transactionId === id) messages.push(...messagesOf(history));
    }
  }
  assert.deepEqual(messages, messagesOf(await read(id)));
  assert.deepEqual(messages.at(-1), ['9900000004', 'BUDI SANTOSO', 'instead of ERASED, ERASED']);
  const again = await erase(number, { directory });
  assert.deepEqual([again.transactions, again.archivedTransactions], [0, 0]);
});

/** Regression: the export ended with an error about a missing file, although nothing was missing. */
test('an export reads the file that takes the place of one which another person is erased from meanwhile', async () => {
  const [number, other] = ['7700110023', '7700110024'];
  await feed(paid('TPE000000023', { account_number: number }), 'inserted');
  await feed(paid('TPE000000024', { account_number: other }), 'inserted');
  await setup.sql(`update tiba.events set occurred_at = ${daysEarlier('occurred_at', 100)}`);
  assert.equal((await setup.archive()).files, 1);
  const { directory } = setup;
  let erased = 0;
  const over: Database = {
    ...database,
    async query(text: string, values?: readonly unknown[], name?: string) {
      const rows = await database.query(text, values, name);
      if (erased === 0 && text.includes('from tiba.archive_files')) {
        ({ archiveFiles: erased } = await erase(other, { directory }));
      }
      return rows as never[];
    },
  };
  const records = await Array.fromAsync(exportPerson(over, personOf(number), directory));
  assert.equal(erased, 1);
  assert.deepEqual(
    records.map(({ where }) => where),
    ['transactions', 'archive'],
  );
});

/** Regression: of two files with one place only the first was read, which may have less. */
test('an export reads all files of an archive that was ended and begun again', async () => {
  const [number, other] = ['7700110025', '7700110026'];
  await feed(paid('TPE000000025', { account_number: number }), 'inserted');
  await feed(paid('TPE000000026', { account_number: other }), 'inserted');
  await setup.sql(`update tiba.events set occurred_at = ${daysEarlier('occurred_at', 100)}`);
  await setup.archive();
  for (const table of ['events where subject_id', 'transactions where transaction_id']) {
    await setup.sql(`delete from tiba.${table} = 'TPE000000025'`);
  }
  // The path of a file ends at random: of ten, the first one mostly lacks the transaction.
  for (let times = 0; times < 9; times += 1) {
    await endArchive(database);
    await setup.archive();
  }
  const records = await Array.fromAsync(exportPerson(database, personOf(number), setup.directory));
  assert.deepEqual(
    records.map(({ where }) => where),
    ['archive'],
  );
});
