import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { listDirectory } from '../../apps/server/src/archive/archive-directory.ts';
import { archiveTransactions } from '../../apps/server/src/archive/archive-transactions.ts';
import { verifyArchive } from '../../apps/server/src/archive/verify-archive.ts';
import { decompressMessages } from '../../apps/server/src/postgres/status-messages.ts';
import { fail, HELD_LEASE } from '../archive/held-lease.ts';
import { addOwnClient, call, feedSuccesses, openSql, register } from '../callbacks/endpoints-harness.ts';
import { databaseUrlOf, manage } from '../manage/manage-process.ts';
import { WITHOUT_RETENTION } from '../postgres/retention-harness.ts';
import { daysEarlier } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startHttpReceiver } from '../support/http-receiver.ts';
import { startTestService, statusUpdate, type TestClient, type TestService } from '../support/service.ts';

const NUMBER = '7700112233';
const NAME = 'WULANDARI "DEWI" PUTRI';
const OTHERS_NUMBER = '7700112234';
const ERASE = ['person', 'erase', '--account', NUMBER, '--json'] as const;
const REASON = ['--reason', 'request 17'] as const;
const decompress = promisify(zstdDecompress);

const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
/** Past the legal hold of ten years. */
const PAST = daysAgo(4_000);
const RECENT = daysAgo(100);

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
let directory: string;
let client: TestClient;
let environment: Record<string, string>;

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'tiba-person-'));
  const settings = { ...WITHOUT_RETENTION, accountValidationDays: 3_650 };
  service = await startTestService({ settings });
  sql = await openSql(service);
  client = await addOwnClient(service);
  environment = {
    DATABASE_URL: databaseUrlOf(service.database),
    TIBA_ARCHIVE_DIRECTORY: directory,
    TIBA_LEGAL_HOLD_DAYS: '3650',
    TIBA_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
});
after(async () => {
  await sql?.end();
  await service?.close();
  await rm(directory, { recursive: true, force: true });
});

/** Disbursements to the person, long ago and recent, in every place where a number or a name is stored. */
async function makeRecords(): Promise<void> {
  const { clientId, token } = client;
  const receiver = await startHttpReceiver();
  // A receiver may repeat what it was sent: the first KiB of its answer is stored.
  receiver.respond = (response, { body }) => response.end(body.includes(NUMBER) ? `paid ${NUMBER}` : 'thanks');
  const kinds = ['disbursement.succeeded', 'disbursement.overdue'];
  const { endpointId } = await register(service, { url: receiver.url, kinds }, token);
  const paid = { client_id: clientId, account_number: NUMBER, account_name: NAME, description: `To ${NAME}` };
  await feedSuccesses(service, 3, { ...paid, processed_at: PAST });
  await feedSuccesses(service, 2, { ...paid, processed_at: RECENT });
  const others = { client_id: clientId, account_number: OTHERS_NUMBER, processed_at: PAST };
  const [other = ''] = await feedSuccesses(service, 2, others);
  // A conflict stores the number with another person's transaction.
  const conflict = statusUpdate({ ...paid, transaction_id: other, reference_id: other, status: 'SUCCESS' });
  assert.equal((await service.feed(conflict)).status, 200);
  // The event of a transaction that was overdue has a copy of it as it was then.
  const slow = { ...paid, transaction_id: 'TPD000000001', reference_id: 'slow' };
  assert.equal((await service.feed(statusUpdate({ ...slow, created_at: daysAgo(4_001) }))).status, 200);
  await eventually('it is overdue', async () => {
    return (await sql(`select from tiba.events where kind = 'disbursement.overdue'`)).length === 1;
  });
  assert.equal((await service.feed({ ...slow, status: 'SUCCESS', processed_at: PAST })).status, 200);
  const body = { bank_code: '014', account_number: NUMBER };
  assert.equal((await service.checkAccount(body, { token })).status, 200);
  const validation = await call(service, 'POST', '/api/v1/account-validations', {
    token,
    body: { accounts: [{ ...body, expected_account_name: NAME, reference: `for ${NUMBER}` }] },
  });
  assert.equal(validation.status, 202, validation.text);
  const ended = async (): Promise<boolean> =>
    (await sql(`select from tiba.account_validations where ended_at is null`)).length === 0;
  await eventually('the bulk validation has ended', ended);
  await eventually(
    'both checks are in the audit log',
    async () => (await sql('select from tiba.account_checks')).length === 2,
  );
  await eventually('all callbacks are delivered', async () => {
    return (
      (await sql(`select from tiba.callback_deliveries where endpoint_id = $1 and state = 'pending'`, [endpointId]))
        .length === 0
    );
  });
  await receiver.close();
  await sql(`update tiba.events set occurred_at = ${daysEarlier('occurred_at', 100)} where client_id = $1`, [clientId]);
  const archived = await archiveTransactions({
    database: service.app.database,
    directory,
    before: new Date(daysAgo(60)),
    lease: HELD_LEASE,
    onClientError: fail,
    signal: new AbortController().signal,
  });
  assert.equal(archived.transactions, 8);
}

/** Where the person's number or name is, or the hash of the account: tables by name, files by path, the log. */
async function findPerson(accountHash: string): Promise<string[]> {
  const terms = [NUMBER, NAME, JSON.stringify(NAME).slice(1, -1), accountHash];
  const has = (text: string): boolean => terms.some((term) => text.includes(term));
  const tables = await sql(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    for (const row of await sql(`select * from ${String(name)}`)) {
      if (Object.values(row).some((value) => has(textOf(value)))) found.push(String(name));
    }
  }
  for (const { messages } of await sql('select messages from tiba.status_messages')) {
    for (const message of await decompressMessages(messages as Buffer)) {
      const { processed_at: processedAt } = JSON.parse(message) as Record<string, unknown>;
      if (has(message)) found.push(processedAt === RECENT ? 'a recent message' : 'a message');
    }
  }
  for (const file of await listDirectory(directory)) {
    const lines = (await decompress(await readFile(path.join(directory, file)))).toString().split('\n');
    // The messages are JSON texts in JSON.
    for (const line of lines) if (has(line) || has(line.replaceAll('\\\\\\"', '\\"'))) found.push(file);
  }
  if (service.logged.some((line) => has(JSON.stringify(line)))) found.push('the log');
  return found.sort();
}

function textOf(value: unknown): string {
  if (value instanceof Buffer) return value.toString('hex');
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

suite('the holder of an account', () => {
  let accountHash: string;
  before(async () => {
    await makeRecords();
    const [row] = await sql(`select encode(account_hash, 'hex') as hash from tiba.account_checks limit 1`);
    accountHash = String(row?.['hash']);
  });

  test('gets everything that is stored, with where it lies', async () => {
    const { code, stdout, stderr } = await manage(['person', 'export', '--account', NUMBER, ...REASON], {
      environment,
    });
    assert.equal(code, 0, stderr);
    const records = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const count = (where: string): number => records.filter((record) => record['where'] === where).length;
    assert.deepEqual(
      ['transactions', 'account_validations', 'account_checks', 'archive'].map(count),
      // Six that paid the person, and one with a conflict that names the number.
      [7, 1, 2, 7],
    );
    const elsewhere = await manage(['person', 'export', '--account', NUMBER, '--bank', 'BRI', ...REASON], {
      environment,
    });
    assert.doesNotMatch(elsewhere.stdout, /"where":"(?:account_validations|account_checks)"/);
  });

  /** Regression: the sentence was the only line of a file of NDJSON. */
  test('of whom nothing is stored gets an empty file, and the person who runs it the sentence', async () => {
    const args = ['person', 'export', '--account', '9900112233', ...REASON];
    const { code, stdout, stderr } = await manage(args, { environment });
    assert.deepEqual([code, stdout], [0, '']);
    assert.match(stderr, /^Nothing is stored about this account\.$/m);
  });

  test('a dry run counts and changes nothing', async () => {
    const found = await findPerson(accountHash);
    const { code, stdout, stderr } = await manage([...ERASE, '--dry-run', ...REASON], { environment });
    assert.equal(code, 0, stderr);
    const {
      left,
      ended_before: endedBefore,
      not_examined: _,
      ...counts
    } = JSON.parse(stdout) as Record<string, unknown>;
    assert.equal(String(endedBefore).slice(0, 10), daysAgo(3_650).slice(0, 10));
    assert.deepEqual(counts, {
      transactions: 5,
      validation_rows: 1,
      account_checks: 2,
      archived_transactions: 5,
      archive_files: 1,
      legal_hold_days: 3_650,
      is_dry_run: true,
    });
    assert.equal((left as unknown[]).length, 4);
    assert.deepEqual(await findPerson(accountHash), found);
    assert.ok(found.includes('tiba.callback_attempts') && found.includes('tiba.events'));
  });

  test('is erased from every table, file and log, but for what is under the legal hold', async () => {
    const { code, stdout, stderr } = await manage([...ERASE, ...REASON], { environment });
    assert.equal(code, 0, stderr);
    const { left } = JSON.parse(stdout) as { left: Record<string, unknown>[] };
    assert.deepEqual(
      left.map(({ reason }) => reason),
      Array.from({ length: 4 }, () => 'under the legal hold'),
    );
    const recent = RECENT.slice(0, 7);
    // The two transactions under the hold: their messages, their lines in the archive, the answers to their callbacks.
    const found = (await findPerson(accountHash))
      .map((where) => (where.includes(`/${recent}/`) ? recent : where))
      .sort();
    assert.deepEqual(found, [
      recent,
      recent,
      'a recent message',
      'a recent message',
      'tiba.callback_attempts',
      'tiba.callback_attempts',
      'tiba.transactions_final',
      'tiba.transactions_final',
    ]);
    const { faults, unknown, transactions } = await verifyArchive(
      service.app.database,
      directory,
      { clientId: null, month: null },
      () => {},
    );
    assert.deepEqual([faults, unknown, transactions], [[], [], 8]);
  });

  test('a second time there is nothing to erase; a status check and the other person are as before', async () => {
    const { stdout } = await manage([...ERASE, ...REASON], { environment });
    const { left, not_examined: _, ...counts } = JSON.parse(stdout) as { left: unknown[]; not_examined: unknown };
    assert.equal(left.length, 4);
    const erased = Object.entries(counts).filter(([name, count]) => !name.startsWith('legal') && Number(count) > 0);
    assert.deepEqual(erased, []);
    const { data } = (await service.get('/api/v1/check-status/TPD000000001', { token: client.token })).json;
    assert.deepEqual(
      [data?.['account_number'], data?.['account_name'], data?.['description'], data?.['amount']],
      ['ERASED', 'ERASED', 'To ERASED', 150_000],
    );
    const others = await sql('select from tiba.transactions where account_number = $1', [OTHERS_NUMBER]);
    assert.equal(others.length, 2);
  });

  test('a later full record of the core is applied, and does not bring the person back', async () => {
    const found = await findPerson(accountHash);
    const { created_at: _, ...full } = statusUpdate({
      client_id: client.clientId,
      transaction_id: 'TPD000000001',
      reference_id: 'slow',
      account_number: NUMBER,
      account_name: NAME,
      description: `To ${NAME}`,
      status: 'SUCCESS',
    });
    const { status, json } = await service.feed({ ...full, reversed_at: daysAgo(0) });
    assert.equal(status, 200);
    assert.equal(json.data?.['advanced'], 1, JSON.stringify(json));
    // Another amount is a conflict as before, and its message names no person either.
    assert.equal((await service.feed({ ...full, amount: '1.00' })).status, 200);
    const [conflict] = await sql(
      `select reason from tiba.other_status_updates where transaction_id = 'TPD000000001' and outcome = 'conflict'`,
    );
    assert.match(String(conflict?.['reason']), /^amount differs/);
    assert.deepEqual(await findPerson(accountHash), found);
  });

  test('each of it is recorded, with a keyed hash instead of the number', async () => {
    const records = await sql(
      `select action, count(distinct subject_id)::int as people, count(*)::int as times, bool_and(reason = 'request 17') as has_reason
         from tiba.operator_actions group by action order by action`,
    );
    assert.deepEqual(records, [
      { action: 'person erase', people: 1, times: 2, has_reason: true },
      { action: 'person erased', people: 1, times: 2, has_reason: true },
      { action: 'person export', people: 2, times: 3, has_reason: true },
    ]);
    const holds = await sql(
      `select distinct (after::jsonb ->> 'legal_hold_days')::int as days
         from tiba.operator_actions where action = 'person erase'`,
    );
    assert.deepEqual(holds, [{ days: 3_650 }]);
  });
});

test('an account that is none, no reason and no directory of the archive are refused', async () => {
  const run = async (args: string[], changes: Record<string, string> = {}): Promise<string> => {
    const { code, stderr } = await manage(args, { environment: { ...environment, ...changes } });
    assert.equal(code, 1);
    return stderr;
  };
  assert.match(await run(['person', 'erase', '--account', '12']), /--account takes 5 to 34 digits/);
  assert.match(await run(['person', 'erase', '--account', NUMBER]), /--reason is missing/);
  const args = ['person', 'erase', '--account', NUMBER, ...REASON];
  assert.match(await run(args, { TIBA_ARCHIVE_DIRECTORY: '' }), /TIBA_ARCHIVE_DIRECTORY is missing/);
  assert.match(await run(args, { TIBA_LEGAL_HOLD_DAYS: '' }), /TIBA_LEGAL_HOLD_DAYS is missing/);
});

/** Regression: an erasure found out after the database was erased, and an export printed a stack trace. */
test('while the disk of the archive is not mounted, nothing is erased, exported or recorded', async () => {
  const mountPoint = await mkdtemp(path.join(tmpdir(), 'tiba-person-'));
  const account = '8800112299';
  const changes = { client_id: client.clientId, account_number: account, processed_at: PAST };
  await feedSuccesses(service, 1, changes);
  const count = async (table: string): Promise<number> => (await sql(`select from tiba.${table}`)).length;
  const records = await count('operator_actions');
  for (const command of ['export', 'erase']) {
    const { code, stdout, stderr } = await manage(['person', command, '--account', account, ...REASON], {
      environment: { ...environment, TIBA_ARCHIVE_DIRECTORY: mountPoint },
    });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /its disk may not be mounted/);
    assert.doesNotMatch(stderr, /^ +at /m);
  }
  assert.equal(await count('operator_actions'), records);
  assert.equal((await sql('select from tiba.transactions where account_number = $1', [account])).length, 1);
  await rm(mountPoint, { recursive: true });
});

suite('another person', () => {
  const [number, alias] = ['8800112233', 'Dewi.W@example.com'];

  test('whose transaction was reversed: both lines of the archive are under the legal hold', async () => {
    const transaction = { client_id: client.clientId, transaction_id: 'TPD000000002', reference_id: 'reversed' };
    const paid = { ...transaction, account_number: number, status: 'SUCCESS', processed_at: PAST };
    const archive = async (): Promise<void> => {
      await sql(`update tiba.events set occurred_at = ${daysEarlier('occurred_at', 100)}`);
      const { database } = service.app;
      const { signal } = new AbortController();
      const end = new Date(daysAgo(60));
      assert.ok(
        (
          await archiveTransactions({
            database,
            directory,
            before: end,
            lease: HELD_LEASE,
            onClientError: fail,
            signal,
          })
        ).transactions > 0,
      );
    };
    assert.equal((await service.feed(statusUpdate(paid))).status, 200);
    await archive();
    const reversal = { ...transaction, status: 'SUCCESS', reversed_at: RECENT };
    assert.equal((await service.feed(reversal)).status, 200);
    await archive();
    const args = ['person', 'erase', '--account', number, '--json', ...REASON];
    const { code, stdout, stderr } = await manage(args, { environment });
    assert.equal(code, 0, stderr);
    const { left, archived_transactions: erased } = JSON.parse(stdout) as Record<string, unknown>;
    assert.equal(erased, 0);
    assert.equal((left as unknown[]).length, 3);
  });

  test('whose number has hyphens in a row of a bulk validation: the row is erased', async () => {
    const accounts = ['8800-112-233', alias].map((text) => ({ bank_code: '014', account_number: text }));
    const { token } = client;
    const validation = await call(service, 'POST', '/api/v1/account-validations', { token, body: { accounts } });
    assert.equal(validation.status, 202, validation.text);
    const running = 'select from tiba.account_validations where ended_at is null';
    await eventually('the bulk validation has ended', async () => (await sql(running)).length === 0);
    const args = ['person', 'erase', '--account', '8800 112 233', '--json', ...REASON];
    const { stdout } = await manage(args, { environment });
    assert.equal((JSON.parse(stdout) as Record<string, unknown>)['validation_rows'], 1);
  });

  test('is found by the e-mail address of an alias', async () => {
    const args = ['person', 'export', '--account', alias.toLowerCase(), ...REASON];
    const { code, stdout, stderr } = await manage(args, { environment });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /"account_number":"Dewi\.W@example\.com"/);
  });

  test('is not erased while another command erases', async () => {
    await sql(`insert into tiba.leases (name, holder, ends_at) values ('archive', gen_random_uuid(), now() + interval '1 hour')
               on conflict (name) do update set holder = excluded.holder, ends_at = excluded.ends_at`);
    const args = ['person', 'erase', '--account', alias, ...REASON];
    const { code, stderr } = await manage(args, { environment });
    assert.equal(code, 1);
    assert.match(stderr, /another process archives or erases/);
    const kept = await sql('select from tiba.account_validation_rows where account_number = $1', [alias]);
    assert.equal(kept.length, 1);
  });
});
