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
let polling: InquiryProcess;
let found: string | null = null;
let now = START;

before(async () => {
  bank = await startScriptedBank({
    status: (request, response) =>
      (found === null ? (UNKNOWN[referenceOf(request)] ?? answerStatus('00')) : answerStatus(found))(request, response),
  });
  bench = await startInquiryBench();
  polling = bench.startProcess({ rails: [bank.rail(rsaKeys())] });
  await bench.insertTransactions(IDS, START);
});
after(async () => {
  await bench?.close();
  await bank?.close();
});

/** Polls once a minute until `end`. Returns the number of inquiries. */
async function pollUntil(end: Date): Promise<number> {
  const before = bank.statusInquiries.length;
  for (; now < end; now = later(MINUTE_MS, now)) await polling.inquiries.poll(now);
  return bank.statusInquiries.length - before;
}

const statuses = async (): Promise<Set<string>> =>
  new Set([...(await transactionsIn(bench.database)).values()].map(({ status }) => status));
const reviews = () => listInquiryReviews(bench.database, 10);
const counted = async (): Promise<string | undefined> =>
  /tiba_transfers_for_review_total\{rail="scripted-bank"\} (\d+)/.exec(await polling.metrics.render())?.[1];
const reviewLogs = (): readonly string[] =>
  polling.logged
    .filter(({ msg }) => /does not know a transfer/.test(String(msg)))
    .map((line) => String(line['transactionId']));

test('during the grace period, a transfer that its bank does not know stays in PROCESS with inquiries as usual', async () => {
  const count = await pollUntil(later(GRACE_MS - MINUTE_MS));
  assert.ok(count >= 2 * 10 && count < 2 * 16, `${count} inquiries`);
  assert.deepEqual(await statuses(), new Set(['PROCESS']));
  assert.deepEqual(await reviews(), []);
  assert.equal(await counted(), undefined);
});

test('after the grace period it is in review: listed, counted, logged once, still in PROCESS', async () => {
  await pollUntil(later(GRACE_MS + 3 * MINUTE_MS));
  const listed = await reviews();
  assert.deepEqual(listed.map(({ transactionId }) => transactionId).toSorted(), IDS.toSorted());
  for (const review of listed) {
    assert.equal(review.rail, 'scripted-bank');
    assert.equal(review.railReference, review.transactionId);
    const lastedMs = Date.parse(review.reviewSince) - Date.parse(review.unknownSince);
    assert.ok(lastedMs >= GRACE_MS && lastedMs < GRACE_MS + 2 * MINUTE_MS, `it was unknown for ${lastedMs} ms`);
  }
  assert.deepEqual(await statuses(), new Set(['PROCESS']));
  assert.equal(await counted(), '2');
  assert.deepEqual(reviewLogs().toSorted(), IDS.toSorted());
  // No more than the limit of the operator's list.
  assert.equal((await listInquiryReviews(bench.database, 1)).length, 1);
});

test('in review it gets few inquiries, without end and however often it is read', async () => {
  const before = bank.statusInquiries.length;
  for (let read = 0; read < 60; read += 1) {
    now = later(30 * SECOND_MS, now);
    await bench.setTime(now);
    for (const id of IDS) await polling.inquiries.refresh('alpha', id, 'scripted-bank');
  }
  const byReaders = bank.statusInquiries.length - before;
  assert.ok(byReaders <= IDS.length * 2, `${byReaders} inquiries for readers in half an hour`);

  for (let day = 0; day < 3; day += 1) {
    const earlier = bank.statusInquiries.length;
    const end = later(24 * HOUR_MS, now);
    for (; now < end; now = later(HOUR_MS, now)) await polling.inquiries.poll(now);
    const count = bank.statusInquiries.length - earlier;
    assert.ok(count >= 2 * 3 && count <= 2 * 5, `${count} inquiries on day ${day}`);
  }
  assert.deepEqual(await statuses(), new Set(['PROCESS']));
  assert.equal(await counted(), '2');
  assert.equal(reviewLogs().length, 2);
});

test('a transfer that the bank finds later leaves review and gets the status at the bank', async () => {
  found = '03';
  await polling.inquiries.poll((now = later(7 * HOUR_MS, now)));
  assert.deepEqual(await reviews(), []);
  found = '00';
  await polling.inquiries.poll((now = later(7 * HOUR_MS, now)));
  assert.deepEqual(await statuses(), new Set(['SUCCESS']));
});
