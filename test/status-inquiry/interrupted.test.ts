import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DatabaseUnavailable } from '../../apps/server/src/postgres/database.ts';
import { listStatusUpdates } from '../../apps/server/src/postgres/status-updates.ts';
import { answerStatus, type BankAnswer, referenceOf } from '../rails/scripted-bank.ts';
import { idsOf, later, MINUTE_MS, SECOND_MS, START, startBenchWithBank, transactionsIn, until } from './harness.ts';

let script: BankAnswer = answerStatus('03');
const { keys, bank, bench } = await startBenchWithBank((request, response) => script(request, response));
// Inquiries left by one test are not due in the next.
beforeEach(() => bench.database.query('delete from tiba.status_inquiries'));

const DUE = later(6 * SECOND_MS);
const inquiriesAbout = (id: string): number =>
  bank.statusInquiries.filter((request) => referenceOf(request) === id).length;

async function statusesOf(ids: readonly string[]): Promise<Set<string | undefined>> {
  const transactions = await transactionsIn(bench.database);
  return new Set(ids.map((id) => transactions.get(id)?.status));
}

test('an inquiry of a killed process is repeated by another when its lease has ended, and not before', async () => {
  const [id = ''] = idsOf('TK', 1);
  await bench.insertTransactions([id], START);
  script = () => {};
  await bench.setTime(DUE);
  const program = fileURLToPath(new URL('inquiry-process.ts', import.meta.url));
  const { connectionString = '' } = bench.connection;
  const child = spawn(process.execPath, [program, connectionString, bank.baseUrl], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  try {
    await until('the inquiry has arrived', () => inquiriesAbout(id) === 1);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }

  script = answerStatus('00');
  const { inquiries } = bench.startProcess({ rails: [bank.rail(keys)] });
  assert.equal(await inquiries.poll(later(14 * SECOND_MS, DUE)), 0);
  assert.equal(inquiriesAbout(id), 1);
  assert.equal(await inquiries.poll(later(16 * SECOND_MS, DUE)), 1);
  assert.equal((await transactionsIn(bench.database)).get(id)?.status, 'SUCCESS');
});

test('a process that stops releases its claims: another inquires at once', async () => {
  const ids = idsOf('TS', 3);
  await bench.insertTransactions(ids, START);
  script = () => {};
  const stopping = bench.startProcess({ rails: [bank.rail(keys)] });
  const polled = stopping.inquiries.poll(DUE);
  await until('the inquiries have arrived', () => ids.every((id) => inquiriesAbout(id) === 1));
  await stopping.close();
  await polled;

  script = answerStatus('00');
  const { inquiries } = bench.startProcess({ rails: [bank.rail(keys)] });
  assert.equal(await inquiries.poll(later(SECOND_MS, DUE)), ids.length);
});

test('an answer after the end of the lease leaves the inquiry to the process that has claimed it since', async () => {
  const [id = ''] = idsOf('TE', 1);
  await bench.insertTransactions([id], START);
  let release = (): void => {};
  script = (request, response) => {
    release = () => void answerStatus('07')(request, response);
  };
  const slow = bench.startProcess({ rails: [bank.rail(keys)] });
  const polled = slow.inquiries.poll(DUE);
  await until('the inquiry has arrived', () => inquiriesAbout(id) === 1);
  // For the other process it is a minute later, as if the first had been suspended in the meantime.
  const { inquiries } = bench.startProcess({ rails: [bank.rail(keys)] });
  script = answerStatus('03');
  assert.equal(await inquiries.poll(later(MINUTE_MS, DUE)), 1);
  const read = () => bench.database.query('select * from tiba.status_inquiries');
  const released = await read();
  release();
  await polled;
  assert.deepEqual(await read(), released);
});

test('money returned by the bank: FAILED from PROCESS, a reversal if another source has reported SUCCESS', async () => {
  const [first = '', second = ''] = idsOf('TG', 2);
  await bench.insertTransactions([first, second], START);
  const { inquiries, transactionUpdater } = bench.startProcess({ rails: [bank.rail(keys)] });
  script = async (request, response) => {
    const transactionId = referenceOf(request);
    if (transactionId === second) {
      const update = { clientId: 'alpha', transactionId, status: 'SUCCESS' } as const;
      await transactionUpdater.apply([{ line: 1, source: 'core', raw: '{}', update }], DUE);
    }
    answerStatus('04')(request, response);
  };
  await inquiries.poll(DUE);
  const transactions = await transactionsIn(bench.database);
  const { status, failure_reason: reason } = transactions.get(first) ?? assert.fail();
  assert.equal(status, 'FAILED');
  assert.match(reason ?? '', /^REFUNDED: /);
  const reversed = transactions.get(second) ?? assert.fail();
  assert.equal(reversed.status, 'SUCCESS');
  assert.ok(reversed.reversed_at !== null);
  assert.equal(await inquiries.poll(later(MINUTE_MS, DUE)), 0);
});

/** Regression: it was a conflict in one database transaction and a reversal in a second one, which could fail alone. */
test('a reversal is stored in one database transaction: none can get lost after a first one', async () => {
  const [id = ''] = idsOf('TF', 1);
  await bench.insertTransactions([id], START);
  let stored = 0;
  const { inquiries, transactionUpdater } = bench.startProcess({
    rails: [bank.rail(keys)],
    onTransaction() {
      stored += 1;
      if (stored > 2) throw new DatabaseUnavailable(new Error('PostgreSQL restarts'), true);
    },
  });
  script = async (request, response) => {
    const update = { clientId: 'alpha', transactionId: referenceOf(request), status: 'SUCCESS' } as const;
    await transactionUpdater.apply([{ line: 1, source: 'core', raw: '{}', update }], DUE);
    answerStatus('04')(request, response);
  };
  await inquiries.poll(DUE);
  const transaction = (await transactionsIn(bench.database)).get(id) ?? assert.fail();
  assert.equal(transaction.status, 'SUCCESS');
  assert.ok(transaction.reversed_at !== null);
  const updates = await listStatusUpdates(bench.database, { clientId: 'alpha', transactionId: id }, 10);
  assert.deepEqual(updates.map(({ outcome }) => outcome).toSorted(), ['advanced', 'inserted', 'reversed']);
});

/** Regression: the core's SUCCESS had ended the inquiries: the answer was lost until the core reported a reversal. */
test('a final answer is stored when PostgreSQL is back, also where there are no inquiries any more', async () => {
  const [id = ''] = idsOf('TP', 1);
  await bench.insertTransactions([id], START);
  let transactions = 0;
  const { inquiries, transactionUpdater } = bench.startProcess({
    rails: [bank.rail(keys)],
    onTransaction() {
      transactions += 1;
      if (transactions === 2 || transactions === 3) {
        throw new DatabaseUnavailable(new Error('PostgreSQL restarts'), true);
      }
    },
  });
  script = async (request, response) => {
    const update = { clientId: 'alpha', transactionId: referenceOf(request), status: 'SUCCESS' } as const;
    await transactionUpdater.apply([{ line: 1, source: 'core', raw: '{}', update }], DUE);
    answerStatus('04')(request, response);
  };
  await inquiries.poll(DUE);
  const { status, reversed_at: reversedAt } = (await transactionsIn(bench.database)).get(id) ?? assert.fail();
  assert.equal(status, 'SUCCESS');
  assert.ok(reversedAt !== null);
});

test('a process that stops does not wait for PostgreSQL with the answers that it has', {
  timeout: 30_000,
}, async () => {
  const [id = ''] = idsOf('TW', 1);
  await bench.insertTransactions([id], START);
  script = answerStatus('00');
  const stopping = bench.startProcess({
    rails: [bank.rail(keys)],
    onTransaction() {
      throw new DatabaseUnavailable(new Error('PostgreSQL restarts'), true);
    },
  });
  const polled = stopping.inquiries.poll(DUE);
  await until('storing failed', () => stopping.logged.some(({ msg }) => String(msg).startsWith('storing status')));
  await stopping.close();
  await polled;
  assert.equal((await transactionsIn(bench.database)).get(id)?.status, 'PROCESS');
  const notStored = stopping.logged.find(({ msg }) =>
    String(msg).startsWith('final answers of a bank were not stored'),
  );
  assert.deepEqual(notStored?.['transactions'], [{ clientId: 'alpha', transactionId: id, status: 'SUCCESS' }]);
});

test('contradictory or malformed answers change nothing, and the inquiry is repeated', async () => {
  const WRONG_ANSWERS: readonly Record<string, unknown>[] = [
    { originalPartnerReferenceNo: 'TY0000000099' },
    { amount: { value: '150000.01', currency: 'IDR' } },
    { amount: { value: '150000.00', currency: 'USD' } },
    { beneficiaryAccountNo: '9876543210' },
    { serviceCode: '22' },
    { latestTransactionStatus: '42' },
    { responseCode: '2001800' },
  ];
  const ids = idsOf('TY', WRONG_ANSWERS.length + 3);
  await bench.insertTransactions(ids, START);
  let isCorrect = false;
  script = (request, response) => {
    const index = ids.indexOf(referenceOf(request));
    const correct = (changes = {}): unknown => answerStatus('06', changes)(request, response);
    if (isCorrect) return correct();
    if (index < WRONG_ANSWERS.length) return correct(WRONG_ANSWERS[index]);
    if (index === WRONG_ANSWERS.length) return response.end('<html>06</html>');
    if (index === WRONG_ANSWERS.length + 1)
      return response.end('{"responseCode":"2003600","latestTransactionStatus":"06","latestTransactionStatus":"00"}');
    return response.writeHead(302, { location: '/v1.0/transfer/status' }).end();
  };
  const { inquiries } = bench.startProcess({ rails: [bank.rail(keys)] });
  await inquiries.poll(DUE);
  assert.equal(bank.statusInquiries.filter((request) => ids.includes(referenceOf(request))).length, ids.length);
  assert.deepEqual(await statusesOf(ids), new Set(['PROCESS']));
  const updates = await bench.database.query(
    "select from tiba.status_updates where source like 'rail:%' and transaction_id like 'TY%'",
  );
  assert.equal(updates.length, 0);

  isCorrect = true;
  for (let now = DUE; now < later(5 * MINUTE_MS); now = later(5 * SECOND_MS, now)) await inquiries.poll(now);
  assert.deepEqual(await statusesOf(ids), new Set(['FAILED']));
});

test('inquiries at an unknown rail are postponed, logged once per rail, and made when the rail is known', async () => {
  const ids = idsOf('TN', 20);
  await bench.insertTransactions(ids.slice(0, 10), START, 'unknown-1');
  await bench.insertTransactions(ids.slice(10), START, 'unknown-2');
  const process = bench.startProcess({ rails: [bank.rail(keys)] });
  let now = DUE;
  for (; now < later(HALF_AN_HOUR_MS); now = later(20 * SECOND_MS, now))
    assert.equal(await process.inquiries.poll(now), 0);
  const warnings = process.logged.filter(({ msg }) => /due status inquiries are postponed/.test(String(msg)));
  assert.deepEqual(new Set(warnings.map(({ rail }) => rail)), new Set(['unknown-1', 'unknown-2']));
  assert.equal(warnings.length, 2);
  const due = await bench.database.query('select from tiba.status_inquiries where next_at <= $1', [now.toISOString()]);
  assert.equal(due.length, 0);

  script = answerStatus('00');
  const configured = bench.startProcess({ rails: ['unknown-1', 'unknown-2'].map((name) => bank.rail(keys, { name })) });
  assert.equal(await configured.inquiries.poll(later(HALF_AN_HOUR_MS, now)), ids.length);
});

const HALF_AN_HOUR_MS = 30 * MINUTE_MS;
