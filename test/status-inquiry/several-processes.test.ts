import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import {
  answerStatus,
  type BankAnswer,
  referenceOf,
  type ScriptedBank,
  startScriptedBank,
} from '../rails/scripted-bank.ts';
import { type RsaKeys, rsaKeys } from '../support/rsa-keys.ts';
import { startTestService, statusUpdate } from '../support/service.ts';
import {
  type InquiryBench,
  idsOf,
  later,
  SECOND_MS,
  START,
  startInquiryBench,
  transactionsIn,
  until,
} from './harness.ts';

/** Every question, and whether another about the same transfer was under way when it came. */
const asked = new Map<string, number>();
const underWay = new Set<string>();
let overlapping = 0;
let underWayMax = 0;
let said = '00';

/** Answers when the next turns of the event loop have brought whatever else was on its way. */
const watched: BankAnswer = async (request, response) => {
  const reference = referenceOf(request);
  asked.set(reference, (asked.get(reference) ?? 0) + 1);
  if (underWay.has(reference)) overlapping += 1;
  underWay.add(reference);
  underWayMax = Math.max(underWayMax, underWay.size);
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  underWay.delete(reference);
  answerStatus(said)(request, response);
};

let keys: RsaKeys;
let bank: ScriptedBank;
let bench: InquiryBench;
before(async () => {
  keys = rsaKeys();
  bank = await startScriptedBank({ status: watched });
  bench = await startInquiryBench();
});
after(async () => {
  await bench?.close();
  await bank?.close();
});
beforeEach(() => {
  asked.clear();
  overlapping = 0;
  underWayMax = 0;
  said = '00';
});

test('several processes that ask what is due at the same moment ask about each transfer once', async () => {
  const ids = idsOf('TP', 150);
  await bench.insertTransactions(ids, START);
  const processes = [1, 2, 3].map(() => bench.startProcess({ rails: [bank.rail(keys)] }));
  const due = later(5 * SECOND_MS);
  const counts = await Promise.all(processes.map(({ inquiries }) => inquiries.poll(due)));
  assert.equal(
    counts.reduce((sum, each) => sum + each, 0),
    ids.length,
  );
  assert.ok(counts.filter((count) => count > 0).length > 1, `one process alone asked: ${counts.join(', ')}`);
  assert.deepEqual(new Set(asked.values()), new Set([1]));
  assert.equal(asked.size, ids.length);
  const transactions = await transactionsIn(bench.database);
  assert.deepEqual(new Set(ids.map((id) => transactions.get(id)?.status)), new Set(['SUCCESS']));
});

test('no transfer is asked about twice at a time, whoever reads it and whatever is due', async () => {
  const ids = idsOf('TR', 24);
  await bench.insertTransactions(ids, START);
  said = '03';
  let now = START;
  const processes = [1, 2].map(() => bench.startProcess({ rails: [bank.rail(keys)], staleMs: 1_000, now: () => now }));
  for (let round = 1; round <= 12; round += 1) {
    now = later(round * 5 * SECOND_MS);
    const rounds = processes.map(({ inquiries }) => inquiries.poll(now));
    const readers = processes.flatMap(({ inquiries }) => ids.map((id) => inquiries.refresh('alpha', id)));
    await Promise.all([...rounds, ...readers]);
  }
  assert.equal(overlapping, 0);
  assert.ok(underWayMax > 1, 'nothing was asked at the same time at all');
  assert.deepEqual([...asked.keys()].toSorted(), ids);
  const questions = [...asked.values()].reduce((sum, each) => sum + each, 0);
  assert.ok(questions > ids.length * 6, `${questions} questions in twelve rounds`);
});

test('two whole services on one database ask each transfer to its end, and never two questions at a time', async () => {
  const services = [];
  try {
    for (let count = 0; count < 2; count += 1) {
      services.push(
        await startTestService({
          database: { connection: bench.connection, drop: async () => {} },
          rails: [bank.rail(keys)],
        }),
      );
    }
    const [service] = services;
    assert.ok(service);
    const ids = idsOf('TW', 60);
    const words = ids.map((id) =>
      statusUpdate({ transaction_id: id, reference_id: id, rail: 'scripted-bank', rail_reference: id }),
    );
    assert.equal((await service.feed(words)).json.data?.['inserted'], ids.length);
    // A bank is left alone for five seconds: not in a test.
    await bench.database.query('update tiba.status_inquiries set next_at = $1 where transaction_id = any ($2)', [
      START,
      ids,
    ]);
    await until('all have ended', async () => {
      const transactions = await transactionsIn(bench.database);
      return ids.every((id) => transactions.get(id)?.status === 'SUCCESS');
    });
    assert.equal(overlapping, 0);
    assert.deepEqual(new Set(asked.values()), new Set([1]));
  } finally {
    for (const service of services) await service.close();
  }
});
