import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Status } from '../../apps/server/src/domain/transaction.ts';
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

/** What becomes of a transfer, and how long its bank takes; nobody is told of it. */
interface Course {
  readonly endsMs: number;
  readonly status: string;
  readonly expected: Status;
}

const IDS = idsOf('TL', 1_000);
const HALF_AN_HOUR = IDS.slice(0, 100);

/** Most banks take seconds, some take minutes, and a tenth of the transfers takes the half hour. */
const courseOf = (id: string): Course => {
  const number = Number(id.slice(2));
  const fails = number % 5 === 0;
  return {
    endsMs: number < HALF_AN_HOUR.length ? 30 * MINUTE_MS : 2 * SECOND_MS + ((number * 7_919) % (3 * MINUTE_MS)),
    status: fails ? '06' : '00',
    expected: fails ? 'FAILED' : 'SUCCESS',
  };
};

const STEP_MS = 5 * SECOND_MS;
let now = START;
const questions = new Map<string, number>();
let bank: ScriptedBank;
let bench: InquiryBench;
let asker: InquiryProcess;

before(async () => {
  bank = await startScriptedBank({
    status(request, response) {
      const id = referenceOf(request);
      questions.set(id, (questions.get(id) ?? 0) + 1);
      const { endsMs, status } = courseOf(id);
      const ended = now.getTime() - START.getTime() >= endsMs;
      return answerStatus(ended ? status : '03', ended ? { previousResponseCode: '4041811' } : {})(request, response);
    },
  });
  bench = await startInquiryBench();
  asker = bench.startProcess({ rails: [bank.rail(rsaKeys())] });
});
after(async () => {
  await bench?.close();
  await bank?.close();
});

test('1,000 transfers whose notifications are all lost end as the bank knows them, none known much later than it took, and fewer than 15 questions are asked about those that take half an hour', async () => {
  await bench.insertTransactions(IDS, START);
  const end = later(40 * MINUTE_MS);
  for (let due = await nextDue(bench.database); due !== null; due = await nextDue(bench.database)) {
    assert.ok(due < end, `something is still asked at ${due.toISOString()}`);
    // In steps, as time comes to a loop.
    now = later(Math.ceil((Math.max(due.getTime(), now.getTime()) - START.getTime()) / STEP_MS) * STEP_MS);
    await asker.inquiries.poll(now);
  }

  const transactions = await transactionsIn(bench.database);
  for (const id of IDS) {
    const { expected, endsMs } = courseOf(id);
    const stored = transactions.get(id);
    assert.equal(stored?.status, expected, id);
    if (expected === 'FAILED') assert.match(stored.failure_reason ?? '', /^ACCOUNT_NOT_FOUND: /);
    const lateMs = (stored.processed_at?.getTime() ?? Infinity) - START.getTime() - endsMs;
    assert.ok(lateMs <= endsMs + 30 * SECOND_MS, `${id} is known ${lateMs} ms after its end`);
    assert.ok(lateMs <= 6 * MINUTE_MS, `${id} is known ${lateMs} ms after its end`);
  }
  for (const id of HALF_AN_HOUR) {
    const asked = questions.get(id) ?? 0;
    assert.ok(asked > 5 && asked < 15, `${id} was asked about ${asked} times`);
  }
});

test('what a bank said stands in the observations, by the name of its rail', async () => {
  const rows = await bench.database.query<{ raw: string; outcome: string; source: string }>(
    `select source, raw::text as raw, outcome from tiba.status_updates
      where transaction_id = $1 order by status_update_id desc limit 2`,
    [IDS[0]],
  );
  assert.deepEqual(
    rows.map(({ source, outcome }) => [source, outcome]),
    [
      ['rail:scripted-bank', 'advanced'],
      ['rail:scripted-bank', 'unchanged'],
    ],
  );
  assert.deepEqual(
    rows.map(({ raw }) => JSON.parse(raw)),
    [
      { status: 'FAILED', failure_reason: 'ACCOUNT_NOT_FOUND', rail_code: '2003600 06 4041811' },
      { status: 'PROCESS', rail_code: '2003600 03' },
    ],
  );
});

test('nothing is asked any more about what is final', async () => {
  const asked = bank.statusInquiries.length;
  assert.equal(await asker.inquiries.poll(later(100 * MINUTE_MS)), 0);
  assert.equal(bank.statusInquiries.length, asked);
});
