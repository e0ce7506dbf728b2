import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { READER_WAITS_MS } from '../../apps/server/src/status-inquiry/status-inquiries.ts';
import {
  answerTransfer,
  type BankAnswer,
  type BankRequest,
  referenceOf,
  type ScriptedBank,
  startScriptedBank,
} from '../rails/scripted-bank.ts';
import { type RsaKeys, rsaKeys } from '../support/rsa-keys.ts';
import {
  type AskingBench,
  type AskingOptions,
  type AskingProcess,
  idsOf,
  later,
  SECOND_MS,
  START,
  startAskingBench,
  transactionsIn,
  until,
} from './harness.ts';

const STALE_MS = 10_000;
const ids = idsOf('TF', 100);
let used = 0;

let keys: RsaKeys;
let bank: ScriptedBank;
let bench: AskingBench;
let script: BankAnswer = answerTransfer('03');
let now = START;

before(async () => {
  keys = rsaKeys();
  bank = await startScriptedBank({ transfer: (request, response) => script(request, response) });
  bench = await startAskingBench();
});
after(async () => {
  await bench?.close();
  await bank?.close();
});
beforeEach(() => {
  script = answerTransfer('03');
  now = START;
});

async function begin(): Promise<string> {
  const id = ids[(used += 1)] ?? assert.fail('there are no more transactions');
  await bench.begin([id], START);
  return id;
}

const start = (options: Partial<AskingOptions> = {}): AskingProcess =>
  bench.process({ rails: [bank.rail(keys)], staleMs: STALE_MS, now: () => now, ...options });

const questionsAbout = (id: string): readonly BankRequest[] =>
  bank.transferInquiries.filter((request) => referenceOf(request) === id);

const statusOf = async (id: string): Promise<string | undefined> =>
  (await transactionsIn(bench.database)).get(id)?.status;

/** A bank that answers when it is told to. */
function holding(status: string): { answer: BankAnswer; arrived: () => number; release: () => void } {
  const held: (() => void)[] = [];
  let released = false;
  return {
    answer(request, response) {
      const give = (): unknown => answerTransfer(status)(request, response);
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
  script = answerTransfer('00');
  await start().asking.refresh('alpha', id);
  assert.equal(await statusOf(id), 'SUCCESS');
  assert.equal(questionsAbout(id).length, 1);
});

test('what was asked about lately is not asked about again; what was asked about long ago is', async () => {
  const id = await begin();
  const { asking } = start();
  await asking.refresh('alpha', id);
  now = later(STALE_MS - SECOND_MS);
  await asking.refresh('alpha', id);
  assert.equal(questionsAbout(id).length, 1);
  now = later(STALE_MS);
  await asking.refresh('alpha', id);
  assert.equal(questionsAbout(id).length, 2);
});

test('a question of the schedule counts as well, also one of another process', async () => {
  const id = await begin();
  const [one, other] = [start(), start()];
  now = later(6 * SECOND_MS);
  await one.asking.poll(now);
  await one.asking.refresh('alpha', id);
  await other.asking.refresh('alpha', id);
  assert.equal(questionsAbout(id).length, 1);
  now = later(6 * SECOND_MS + STALE_MS + SECOND_MS);
  await other.asking.refresh('alpha', id);
  assert.equal(questionsAbout(id).length, 2);
});

test('readers do not make the schedule ask less', async () => {
  const id = await begin();
  const { asking } = start();
  for (let read = 1; read <= 100; read += 1) {
    now = later(read * 11 * SECOND_MS);
    await asking.refresh('alpha', id);
  }
  assert.equal(questionsAbout(id).length, 100);
  await asking.poll(later(15 * SECOND_MS, now));
  assert.equal(questionsAbout(id).length, 101);
});

test('many who read at once share one question and its answer', async () => {
  const id = await begin();
  const held = holding('00');
  script = held.answer;
  const { asking } = start();
  const readers = Array.from({ length: 50 }, async () => {
    await asking.refresh('alpha', id);
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
  const asked = start().asking.refresh('alpha', id);
  await until('the question has arrived', () => held.arrived() === 1);
  const waitedMs: number[] = [];
  for (let other = 0; other < 5; other += 1) {
    const beganMs = performance.now();
    await start().asking.refresh('alpha', id);
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
  const { asking } = start({ readerWaitsMs: READER_WAITS_MS });
  const beganMs = performance.now();
  await asking.refresh('alpha', id);
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
  const { asking } = start({ onQuery: () => void (queries += 1) });
  await asking.refresh('alpha', id);
  const earlier = queries;
  assert.ok(earlier > 0);
  for (let read = 0; read < 1_000; read += 1) await asking.refresh('alpha', id);
  assert.equal(queries, earlier);
  // The same for one that cannot be asked about at all.
  await asking.refresh('alpha', 'TF9999999999');
  const afterUnknown = queries;
  for (let read = 0; read < 1_000; read += 1) await asking.refresh('alpha', 'TF9999999999');
  assert.equal(queries, afterUnknown);
});

test('what cannot be asked about resolves: another client, a final one, a rail that is unknown or takes no questions', async () => {
  const id = await begin();
  script = answerTransfer('00');
  const { asking } = start();
  await asking.refresh('beta', id);
  assert.equal(questionsAbout(id).length, 0);
  await asking.refresh('alpha', id);
  now = later(60 * SECOND_MS);
  await asking.refresh('alpha', id);
  assert.equal(questionsAbout(id).length, 1);

  const { inquireStatus: _, ...mute } = bank.rail(keys);
  const another = await begin();
  await start({ rails: [mute] }).asking.refresh('alpha', another);
  await start({ rails: [bank.rail(keys, { name: 'another' })] }).asking.refresh('alpha', another);
  assert.equal(questionsAbout(another).length, 0);
  assert.equal(await statusOf(another), 'PROCESS');
});

test('without its database a refresh still resolves', async () => {
  const id = await begin();
  const asker = start();
  const broken = start();
  await broken.database.close();
  await broken.asking.refresh('alpha', id);
  await asker.asking.refresh('alpha', id);
  assert.equal(questionsAbout(id).length, 1);
});
