import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { REFRESH_TIMEOUT_MS } from '../../apps/server/src/status-inquiry/status-inquiries.ts';
import {
  answerStatus,
  type BankAnswer,
  type BankRequest,
  referenceOf,
  type ScriptedBank,
  startScriptedBank,
} from '../rails/scripted-bank.ts';
import { type RsaKeys, rsaKeys } from '../support/rsa-keys.ts';
import {
  type InquiryBench,
  type InquiryProcess,
  type InquiryProcessOptions,
  idsOf,
  later,
  SECOND_MS,
  START,
  startInquiryBench,
  transactionsIn,
  until,
} from './harness.ts';

const STALE_MS = 10_000;
const ids = idsOf('TF', 100);
let used = 0;

let keys: RsaKeys;
let bank: ScriptedBank;
let bench: InquiryBench;
let script: BankAnswer = answerStatus('03');
let now = START;

before(async () => {
  keys = rsaKeys();
  bank = await startScriptedBank({ status: (request, response) => script(request, response) });
  bench = await startInquiryBench();
});
after(async () => {
  await bench?.close();
  await bank?.close();
});
beforeEach(() => {
  script = answerStatus('03');
  now = START;
});

async function begin(): Promise<string> {
  const id = ids[(used += 1)] ?? assert.fail('there are no more transactions');
  await bench.insertTransactions([id], START);
  return id;
}

const start = (options: Partial<InquiryProcessOptions> = {}): InquiryProcess =>
  bench.startProcess({ rails: [bank.rail(keys)], staleMs: STALE_MS, now: () => now, ...options });

const questionsAbout = (id: string): readonly BankRequest[] =>
  bank.statusInquiries.filter((request) => referenceOf(request) === id);

const statusOf = async (id: string): Promise<string | undefined> =>
  (await transactionsIn(bench.database)).get(id)?.status;

/** A bank that answers when it is told to. */
function holding(status: string): { answer: BankAnswer; arrived: () => number; release: () => void } {
  const held: (() => void)[] = [];
  let released = false;
  return {
    answer(request, response) {
      const give = (): unknown => answerStatus(status)(request, response);
      if (released) give();
      else held.push(give);
    },
    arrived: () => held.length,
    release() {
      released = true;
      for (const give of held) give();
    },
  };
}

test('a reader of a transaction that was never asked about sees what its bank says now', async () => {
  const id = await begin();
  script = answerStatus('00');
  await start().inquiries.refresh('alpha', id);
  assert.equal(await statusOf(id), 'SUCCESS');
  assert.equal(questionsAbout(id).length, 1);
});

test('what was asked about lately is not asked about again; what was asked about long ago is', async () => {
  const id = await begin();
  const { inquiries } = start();
  await inquiries.refresh('alpha', id);
  now = later(STALE_MS - SECOND_MS);
  await inquiries.refresh('alpha', id);
  assert.equal(questionsAbout(id).length, 1);
  now = later(STALE_MS);
  await inquiries.refresh('alpha', id);
  assert.equal(questionsAbout(id).length, 2);
});

test('a question of the schedule counts as well, also one of another process', async () => {
  const id = await begin();
  const [one, other] = [start(), start()];
  now = later(6 * SECOND_MS);
  await one.inquiries.poll(now);
  await one.inquiries.refresh('alpha', id);
  await other.inquiries.refresh('alpha', id);
  assert.equal(questionsAbout(id).length, 1);
  now = later(6 * SECOND_MS + STALE_MS + SECOND_MS);
  await other.inquiries.refresh('alpha', id);
  assert.equal(questionsAbout(id).length, 2);
});

test('readers do not make the schedule ask less', async () => {
  const id = await begin();
  const { inquiries } = start();
  for (let read = 1; read <= 100; read += 1) {
    now = later(read * 11 * SECOND_MS);
    await inquiries.refresh('alpha', id);
  }
  assert.equal(questionsAbout(id).length, 100);
  await inquiries.poll(later(15 * SECOND_MS, now));
  assert.equal(questionsAbout(id).length, 101);
});

test('many who read at once share one question and its answer', async () => {
  const id = await begin();
  const held = holding('00');
  script = held.answer;
  const { inquiries } = start();
  const readers = Array.from({ length: 50 }, async () => {
    await inquiries.refresh('alpha', id);
    return statusOf(id);
  });
  await until('the question has arrived', () => held.arrived() > 0);
  held.release();
  assert.deepEqual(new Set(await Promise.all(readers)), new Set(['SUCCESS']));
  assert.equal(questionsAbout(id).length, 1);
});

test('who reads while another process asks is answered at once', async () => {
  const id = await begin();
  const held = holding('00');
  script = held.answer;
  const asked = start().inquiries.refresh('alpha', id);
  await until('the question has arrived', () => held.arrived() === 1);
  const waitedMs: number[] = [];
  for (let other = 0; other < 5; other += 1) {
    const beganMs = performance.now();
    await start().inquiries.refresh('alpha', id);
    waitedMs.push(performance.now() - beganMs);
  }
  // Waiting for the bank, which holds the question, would take each of them as long as a reader waits.
  assert.ok(Math.min(...waitedMs) < 200, `they waited ${waitedMs.join(', ')} ms`);
  assert.equal(held.arrived(), 1);
  held.release();
  await asked;
});

test('a reader waits 300 ms for a bank and no longer, and the answer is stored when it comes', async () => {
  const id = await begin();
  const held = holding('00');
  script = held.answer;
  const { inquiries } = start({ refreshTimeoutMs: REFRESH_TIMEOUT_MS });
  const beganMs = performance.now();
  await inquiries.refresh('alpha', id);
  const waitedMs = performance.now() - beganMs;
  assert.ok(waitedMs >= 290, `after ${waitedMs} ms`);
  assert.equal(await statusOf(id), 'PROCESS');
  held.release();
  await until('the answer is stored', async () => (await statusOf(id)) === 'SUCCESS');
  assert.equal(questionsAbout(id).length, 1);
});

test('reading the same transaction again and again costs no query', async () => {
  const id = await begin();
  let queries = 0;
  const { inquiries } = start({ onQuery: () => void (queries += 1) });
  await inquiries.refresh('alpha', id);
  const earlier = queries;
  assert.ok(earlier > 0);
  for (let read = 0; read < 1_000; read += 1) await inquiries.refresh('alpha', id);
  assert.equal(queries, earlier);
  // The same for one that cannot be asked about at all.
  await inquiries.refresh('alpha', 'TF9999999999');
  const afterUnknown = queries;
  for (let read = 0; read < 1_000; read += 1) await inquiries.refresh('alpha', 'TF9999999999');
  assert.equal(queries, afterUnknown);
});

test('what cannot be asked about resolves: another client, a final one, a rail that is unknown or takes no questions', async () => {
  const id = await begin();
  script = answerStatus('00');
  const { inquiries } = start();
  await inquiries.refresh('beta', id);
  assert.equal(questionsAbout(id).length, 0);
  await inquiries.refresh('alpha', id);
  now = later(60 * SECOND_MS);
  await inquiries.refresh('alpha', id);
  assert.equal(questionsAbout(id).length, 1);

  const { inquireStatus: _, ...mute } = bank.rail(keys);
  const another = await begin();
  await start({ rails: [mute] }).inquiries.refresh('alpha', another);
  await start({ rails: [bank.rail(keys, { name: 'another' })] }).inquiries.refresh('alpha', another);
  assert.equal(questionsAbout(another).length, 0);
  assert.equal(await statusOf(another), 'PROCESS');
});

test('without its database a refresh still resolves', async () => {
  const id = await begin();
  const asker = start();
  const broken = start();
  await broken.database.close();
  await broken.inquiries.refresh('alpha', id);
  await asker.inquiries.refresh('alpha', id);
  assert.equal(questionsAbout(id).length, 1);
});
