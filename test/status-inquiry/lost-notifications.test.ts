import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Status } from '../../apps/server/src/domain/transaction.ts';
import { listStatusUpdates } from '../../apps/server/src/postgres/status-updates.ts';
import { answerStatus, referenceOf, type ScriptedBank, startScriptedBank } from '../rails/scripted-bank.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import {
  type InquiryBench,
  type InquiryProcess,
  idsOf,
  later,
  MINUTE_MS,
  nextDue,
  SECOND_MS,
  START,
  startInquiryBench,
  transactionsIn,
} from './harness.ts';

/** The outcome of a transfer and how long its bank takes; all notifications about it are lost. */
interface Course {
  readonly durationMs: number;
  readonly status: string;
  readonly expected: Status;
}

const IDS = idsOf('TL', 1_000);
const HALF_AN_HOUR = IDS.slice(0, 100);

/** Most transfers take seconds, some take minutes, and a tenth takes half an hour. */
const courseOf = (id: string): Course => {
  const number = Number(id.slice(2));
  const fails = number % 5 === 0;
  return {
    durationMs: number < HALF_AN_HOUR.length ? 30 * MINUTE_MS : 2 * SECOND_MS + ((number * 7_919) % (3 * MINUTE_MS)),
    status: fails ? '06' : '00',
    expected: fails ? 'FAILED' : 'SUCCESS',
  };
};

const STEP_MS = 5 * SECOND_MS;
let now = START;
const inquiriesById = new Map<string, number>();
let bank: ScriptedBank;
let bench: InquiryBench;
let polling: InquiryProcess;

before(async () => {
  bank = await startScriptedBank({
    status(request, response) {
      const id = referenceOf(request);
      inquiriesById.set(id, (inquiriesById.get(id) ?? 0) + 1);
      const { durationMs, status } = courseOf(id);
      const ended = now.getTime() - START.getTime() >= durationMs;
      return answerStatus(ended ? status : '03', ended ? { previousResponseCode: '4041811' } : {})(request, response);
    },
  });
  bench = await startInquiryBench();
  polling = bench.startProcess({ rails: [bank.rail(rsaKeys())] });
});
after(async () => {
  await bench?.close();
  await bank?.close();
});

test('1,000 transfers without notifications become final in time, with fewer than 15 inquiries in half an hour', async () => {
  await bench.insertTransactions(IDS, START);
  const end = later(40 * MINUTE_MS);
  for (let due = await nextDue(bench.database); due !== null; due = await nextDue(bench.database)) {
    assert.ok(due < end, `an inquiry is still due at ${due.toISOString()}`);
    // In steps, as in a loop that polls.
    now = later(Math.ceil((Math.max(due.getTime(), now.getTime()) - START.getTime()) / STEP_MS) * STEP_MS);
    await polling.inquiries.poll(now);
  }

  const transactions = await transactionsIn(bench.database);
  for (const id of IDS) {
    const { expected, durationMs } = courseOf(id);
    const stored = transactions.get(id);
    assert.equal(stored?.status, expected, id);
    if (expected === 'FAILED') assert.match(stored.failure_reason ?? '', /^ACCOUNT_NOT_FOUND: /);
    const lateMs = (stored.processed_at?.getTime() ?? Infinity) - START.getTime() - durationMs;
    assert.ok(lateMs <= durationMs + 30 * SECOND_MS, `${id} is final ${lateMs} ms after the bank completed it`);
    assert.ok(lateMs <= 6 * MINUTE_MS, `${id} is final ${lateMs} ms after the bank completed it`);
  }
  for (const id of HALF_AN_HOUR) {
    const count = inquiriesById.get(id) ?? 0;
    assert.ok(count > 5 && count < 15, `${count} inquiries about ${id}`);
  }
});

test('answers of a bank are stored as status update records, with the name of the rail as source', async () => {
  const updates = await listStatusUpdates(bench.database, { clientId: 'alpha', transactionId: IDS[0] ?? '' }, 2);
  const rows = updates.toReversed();
  assert.deepEqual(
    rows.map(({ source, outcome }) => [source, outcome]),
    [
      ['rail:scripted-bank', 'advanced'],
      ['rail:scripted-bank', 'unchanged'],
    ],
  );
  assert.deepEqual(
    rows.map(({ raw }) => JSON.parse(raw ?? '')),
    [
      { status: 'FAILED', failure_reason: 'ACCOUNT_NOT_FOUND', rail_code: '2003600 06 4041811' },
      { status: 'PROCESS', rail_code: '2003600 03' },
    ],
  );
});

test('there are no inquiries about final transactions', async () => {
  const count = bank.statusInquiries.length;
  assert.equal(await polling.inquiries.poll(later(100 * MINUTE_MS)), 0);
  assert.equal(bank.statusInquiries.length, count);
});

test('inquiries of the schedule go over the rail that takes the place of the former one', async () => {
  const [id = ''] = idsOf('TN', 1);
  const at = later(200 * MINUTE_MS);
  await bench.insertTransactions([id], at);
  const partnersOf = (): unknown[] =>
    bank.statusInquiries.filter((each) => referenceOf(each) === id).map(({ headers }) => headers['x-partner-id']);
  now = START;
  await polling.inquiries.poll(later(6 * SECOND_MS, at));
  polling.inquiries.replaceRails([bank.rail(rsaKeys(), { partnerId: 'NEXT' })]);
  now = later(40 * MINUTE_MS);
  await polling.inquiries.poll(later(MINUTE_MS, at));
  assert.deepEqual(partnersOf(), ['TIBATEST', 'NEXT']);
  assert.notEqual((await transactionsIn(bench.database)).get(id)?.status, 'PROCESS');
  polling.inquiries.replaceRails([]);
  assert.equal(await polling.inquiries.poll(later(2 * MINUTE_MS, at)), 0);
});
