import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { listInquiryReviews } from '../../apps/server/src/postgres/status-inquiries.ts';
import {
  answer,
  answerStatus,
  type BankAnswer,
  referenceOf,
  type ScriptedBank,
  startScriptedBank,
} from '../rails/scripted-bank.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import {
  HOUR_MS,
  type InquiryBench,
  type InquiryProcess,
  later,
  MINUTE_MS,
  SECOND_MS,
  START,
  startInquiryBench,
  transactionsIn,
} from './harness.ts';

const UNKNOWN: Readonly<Record<string, BankAnswer>> = {
  TU0000000007: answerStatus('07'),
  TU0000000404: (_request, response) =>
    answer(response, 404, { responseCode: '4043601', responseMessage: 'Not found' }),
};
const IDS = Object.keys(UNKNOWN);
const GRACE_MS = HOUR_MS;

let bank: ScriptedBank;
let bench: InquiryBench;
let asker: InquiryProcess;
let found: string | null = null;
let now = START;

before(async () => {
  bank = await startScriptedBank({
    status: (request, response) =>
      (found === null ? (UNKNOWN[referenceOf(request)] ?? answerStatus('00')) : answerStatus(found))(request, response),
  });
  bench = await startInquiryBench();
  asker = bench.startProcess({ rails: [bank.rail(rsaKeys())], now: () => now });
  await bench.insertTransactions(IDS, START);
});
after(async () => {
  await bench?.close();
  await bank?.close();
});

/** How many questions there were in this time, asked a minute apart. */
async function askUntil(end: Date): Promise<number> {
  const asked = bank.statusInquiries.length;
  for (; now < end; now = later(MINUTE_MS, now)) await asker.inquiries.poll(now);
  return bank.statusInquiries.length - asked;
}

const statuses = async (): Promise<Set<string>> =>
  new Set([...(await transactionsIn(bench.database)).values()].map(({ status }) => status));
const reviews = () => listInquiryReviews(bench.database, 10);
const counted = async (): Promise<string | undefined> =>
  /tiba_transfers_for_review_total\{rail="scripted-bank"\} (\d+)/.exec(await asker.metrics.render())?.[1];
const complaints = (): readonly string[] =>
  asker.logged
    .filter(({ msg }) => /does not know a transfer/.test(String(msg)))
    .map((line) => String(line['transactionId']));

test('a transfer that its bank knows nothing of stays in PROCESS and is asked about as usual while the grace period lasts', async () => {
  const asked = await askUntil(later(GRACE_MS - MINUTE_MS));
  assert.ok(asked >= 2 * 10 && asked < 2 * 16, `${asked} questions`);
  assert.deepEqual(await statuses(), new Set(['PROCESS']));
  assert.deepEqual(await reviews(), []);
  assert.equal(await counted(), undefined);
});

test('after the grace period it is for review: listed, counted, logged once, still in PROCESS', async () => {
  await askUntil(later(GRACE_MS + 3 * MINUTE_MS));
  const listed = await reviews();
  assert.deepEqual(listed.map(({ transactionId }) => transactionId).toSorted(), IDS.toSorted());
  for (const review of listed) {
    assert.equal(review.rail, 'scripted-bank');
    assert.equal(review.railReference, review.transactionId);
    const lastedMs = Date.parse(review.reviewSince) - Date.parse(review.unknownSince);
    assert.ok(lastedMs >= GRACE_MS && lastedMs < GRACE_MS + 2 * MINUTE_MS, `it lasted ${lastedMs} ms`);
  }
  assert.deepEqual(await statuses(), new Set(['PROCESS']));
  assert.equal(await counted(), '2');
  assert.deepEqual(complaints().toSorted(), IDS.toSorted());
  // No more than the limit, for the operator's page.
  assert.equal((await listInquiryReviews(bench.database, 1)).length, 1);
});

test('then it is asked about rarely, but for ever, and whoever reads it does not change that', async () => {
  const asked = bank.statusInquiries.length;
  for (let read = 0; read < 60; read += 1) {
    now = later(30 * SECOND_MS, now);
    for (const id of IDS) await asker.inquiries.refresh('alpha', id);
  }
  const byReaders = bank.statusInquiries.length - asked;
  assert.ok(byReaders <= IDS.length * 2, `${byReaders} questions of readers in half an hour`);

  for (let day = 0; day < 3; day += 1) {
    const earlier = bank.statusInquiries.length;
    const end = later(24 * HOUR_MS, now);
    for (; now < end; now = later(HOUR_MS, now)) await asker.inquiries.poll(now);
    const asked = bank.statusInquiries.length - earlier;
    assert.ok(asked >= 2 * 3 && asked <= 2 * 5, `${asked} questions on day ${day}`);
  }
  assert.deepEqual(await statuses(), new Set(['PROCESS']));
  assert.equal(await counted(), '2');
  assert.equal(complaints().length, 2);
});

test('when the bank finds it after all it is no longer for review, and ends as the bank says', async () => {
  found = '03';
  await asker.inquiries.poll((now = later(7 * HOUR_MS, now)));
  assert.deepEqual(await reviews(), []);
  found = '00';
  await asker.inquiries.poll((now = later(7 * HOUR_MS, now)));
  assert.deepEqual(await statuses(), new Set(['SUCCESS']));
});
