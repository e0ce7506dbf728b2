import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { CONCURRENCY_MAX } from '../../apps/server/src/status-inquiry/adaptive-concurrency.ts';
import { REFRESH_TIMEOUT_MS } from '../../apps/server/src/status-inquiry/status-inquiries.ts';
import { answerStatus, type BankAnswer, type BankRequest, referenceOf } from '../rails/scripted-bank.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import {
  type InquiryProcess,
  type InquiryProcessOptions,
  idsOf,
  later,
  SECOND_MS,
  START,
  startBenchWithBank,
  transactionsIn,
  until,
} from './harness.ts';

const STALE_MS = 10_000;
const RAIL = 'scripted-bank';
const ids = idsOf('TF', 100);
let used = 0;

let script: BankAnswer = answerStatus('03');
const { keys, bank, bench } = await startBenchWithBank((request, response) => script(request, response));
beforeEach(async () => {
  script = answerStatus('03');
  await bench.setTime(START);
});

async function insertTransaction(): Promise<string> {
  const id = ids[(used += 1)] ?? assert.fail('there are no more transactions');
  await bench.insertTransactions([id], START);
  return id;
}

const start = (options: Partial<InquiryProcessOptions> = {}): InquiryProcess =>
  bench.startProcess({ rails: [bank.rail(keys)], staleMs: STALE_MS, ...options });

const inquiriesAbout = (id: string): readonly BankRequest[] =>
  bank.statusInquiries.filter((request) => referenceOf(request) === id);

const statusOf = async (id: string): Promise<string | undefined> =>
  (await transactionsIn(bench.database)).get(id)?.status;

/** A bank that answers when the test releases it. */
function heldBank(status: string): { answer: BankAnswer; arrived: () => number; release: () => void } {
  const held: (() => void)[] = [];
  let released = false;
  return {
    answer(request, response) {
      const respond = (): unknown => answerStatus(status)(request, response);
      if (released) respond();
      else held.push(respond);
    },
    arrived: () => held.length,
    release() {
      released = true;
      for (const respond of held) respond();
    },
  };
}

test('a read of a transaction without any inquiry sees the current status at the bank', async () => {
  const id = await insertTransaction();
  script = answerStatus('00');
  await start().inquiries.refresh('alpha', id, RAIL);
  assert.equal(await statusOf(id), 'SUCCESS');
  assert.equal(inquiriesAbout(id).length, 1);
});

test('a recent inquiry is not repeated, and a stale one is', async () => {
  const id = await insertTransaction();
  const { inquiries } = start();
  await inquiries.refresh('alpha', id, RAIL);
  await bench.setTime(later(STALE_MS - SECOND_MS));
  await inquiries.refresh('alpha', id, RAIL);
  assert.equal(inquiriesAbout(id).length, 1);
  await bench.setTime(later(STALE_MS));
  await inquiries.refresh('alpha', id, RAIL);
  assert.equal(inquiriesAbout(id).length, 2);
});

test('an operator gets the answer of the bank, or why it was not asked', async () => {
  const [id, other] = [await insertTransaction(), await insertTransaction()];
  const { inquiries } = start();
  assert.equal(await inquiries.inquireNow('alpha', id, RAIL), 'PROCESS');
  assert.equal(await inquiries.inquireNow('alpha', id, RAIL), 'too_soon');
  assert.equal(await start().inquiries.inquireNow('alpha', id, RAIL), 'too_soon', 'another process has asked');
  assert.equal(await inquiries.inquireNow('alpha', other, 'no-such-rail'), 'not_supported');
  script = (_request, response) => void response.writeHead(500).end();
  assert.equal(await inquiries.inquireNow('alpha', other, RAIL), 'no_status');
  const third = await insertTransaction();
  assert.equal(await inquiries.inquireNow('alpha', third, RAIL), 'no_slot', 'the bank fails and gets a pause');
  assert.equal(inquiriesAbout(third).length, 0);
});

test('a scheduled inquiry counts as well, also one of another process', async () => {
  const id = await insertTransaction();
  const [one, other] = [start(), start()];
  await one.inquiries.poll(later(6 * SECOND_MS));
  await one.inquiries.refresh('alpha', id, RAIL);
  await other.inquiries.refresh('alpha', id, RAIL);
  assert.equal(inquiriesAbout(id).length, 1);
  await bench.setTime(later(6 * SECOND_MS + STALE_MS + SECOND_MS));
  await other.inquiries.refresh('alpha', id, RAIL);
  assert.equal(inquiriesAbout(id).length, 2);
});

test('inquiries for readers do not slow the schedule down', async () => {
  const id = await insertTransaction();
  const { inquiries } = start();
  for (let read = 1; read <= 100; read += 1) {
    await bench.setTime(later(read * 11 * SECOND_MS));
    await inquiries.refresh('alpha', id, RAIL);
  }
  assert.equal(inquiriesAbout(id).length, 100);
  await inquiries.poll(later(1_115 * SECOND_MS));
  assert.equal(inquiriesAbout(id).length, 101);
});

test('concurrent reads share one inquiry and its answer', async () => {
  const id = await insertTransaction();
  const held = heldBank('00');
  script = held.answer;
  const { inquiries } = start();
  const readers = Array.from({ length: 50 }, async () => {
    await inquiries.refresh('alpha', id, RAIL);
    return statusOf(id);
  });
  await until('the inquiry has arrived', () => held.arrived() > 0);
  held.release();
  assert.deepEqual(new Set(await Promise.all(readers)), new Set(['SUCCESS']));
  assert.equal(inquiriesAbout(id).length, 1);
});

test('a read during the inquiry of another process is answered at once', async () => {
  const id = await insertTransaction();
  const held = heldBank('00');
  script = held.answer;
  const refreshed = start().inquiries.refresh('alpha', id, RAIL);
  await until('the inquiry has arrived', () => held.arrived() === 1);
  const waitedMs: number[] = [];
  for (let other = 0; other < 5; other += 1) {
    const beganMs = performance.now();
    await start().inquiries.refresh('alpha', id, RAIL);
    waitedMs.push(performance.now() - beganMs);
  }
  // The bank does not answer, so a read that waited for it would take as long as the refresh timeout: 20 s.
  assert.ok(Math.min(...waitedMs) < timeLimitMs(1_000), `the reads took ${waitedMs.join(', ')} ms`);
  assert.equal(held.arrived(), 1);
  held.release();
  await refreshed;
});

test('a read waits for a bank for 300 ms, and a later answer is stored', async () => {
  const id = await insertTransaction();
  const held = heldBank('00');
  script = held.answer;
  const { inquiries } = start({ refreshTimeoutMs: REFRESH_TIMEOUT_MS });
  const beganMs = performance.now();
  await inquiries.refresh('alpha', id, RAIL);
  const waitedMs = performance.now() - beganMs;
  assert.ok(waitedMs >= 290, `after ${waitedMs} ms`);
  assert.equal(await statusOf(id), 'PROCESS');
  held.release();
  await until('the answer is stored', async () => (await statusOf(id)) === 'SUCCESS');
  assert.equal(inquiriesAbout(id).length, 1);
});

test('repeated reads of the same transaction cost no query', async () => {
  const id = await insertTransaction();
  let queries = 0;
  const { inquiries } = start({ onQuery: () => void (queries += 1) });
  await inquiries.refresh('alpha', id, RAIL);
  const earlier = queries;
  assert.ok(earlier > 0);
  for (let read = 0; read < 1_000; read += 1) await inquiries.refresh('alpha', id, RAIL);
  assert.equal(queries, earlier);
  // The same for a transaction without status inquiries.
  await inquiries.refresh('alpha', 'TF9999999999', RAIL);
  const afterUnknown = queries;
  for (let read = 0; read < 1_000; read += 1) await inquiries.refresh('alpha', 'TF9999999999', RAIL);
  assert.equal(queries, afterUnknown);
});

test('a refresh without an inquiry resolves: another client, a final status, an unknown or unsuitable rail', async () => {
  const id = await insertTransaction();
  script = answerStatus('00');
  const { inquiries } = start();
  await inquiries.refresh('beta', id, RAIL);
  assert.equal(inquiriesAbout(id).length, 0);
  await inquiries.refresh('alpha', id, RAIL);
  await bench.setTime(later(60 * SECOND_MS));
  await inquiries.refresh('alpha', id, RAIL);
  assert.equal(inquiriesAbout(id).length, 1);

  const { inquireStatus: _, ...withoutInquiries } = bank.rail(keys);
  const another = await insertTransaction();
  await start({ rails: [withoutInquiries] }).inquiries.refresh('alpha', another, RAIL);
  await start({ rails: [bank.rail(keys, { name: 'another' })] }).inquiries.refresh('alpha', another, RAIL);
  assert.equal(inquiriesAbout(another).length, 0);
  assert.equal(await statusOf(another), 'PROCESS');
});

test('a refresh without its database resolves', async () => {
  const id = await insertTransaction();
  const working = start();
  const broken = start();
  await broken.database.close();
  await broken.inquiries.refresh('alpha', id, RAIL);
  await working.inquiries.refresh('alpha', id, RAIL);
  assert.equal(inquiriesAbout(id).length, 1);
});

// A read took a slot at every rail while its claim was in flight, so 32 slow claims left other banks without polling.
test('reads of transactions at one bank take no slots of other banks', async () => {
  const read = Array.from({ length: CONCURRENCY_MAX }, () => ids[(used += 1)] ?? assert.fail());
  const due = idsOf('TO', 10);
  await bench.insertTransactions(read, START);
  await bench.insertTransactions(due, START, 'another');
  const claims: (() => void)[] = [];
  const { inquiries } = start({
    rails: [bank.rail(keys), bank.rail(keys, { name: 'another' })],
    async onQuery(name) {
      if (name === 'claim-status-inquiry') await new Promise<void>((resolve) => claims.push(resolve));
    },
  });
  const refreshed = read.map((id) => inquiries.refresh('alpha', id, RAIL));
  await until('the claims are in flight', () => claims.length === read.length);
  // The first rail's inquiries are due as well, and wait for its slots.
  await inquiries.poll(later(6 * SECOND_MS));
  const inquired = due.filter((id) => inquiriesAbout(id).length === 1);
  for (const release of claims) release();
  await Promise.all(refreshed);
  assert.deepEqual(inquired, due);
});
