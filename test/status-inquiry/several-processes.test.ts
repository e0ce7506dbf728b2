import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { CONCURRENCY_MAX } from '../../apps/server/src/status-inquiry/adaptive-concurrency.ts';
import { answerStatus, type BankAnswer, referenceOf } from '../rails/scripted-bank.ts';
import { startTestService, statusUpdate } from '../support/service.ts';
import { idsOf, later, SECOND_MS, START, startBenchWithBank, transactionsIn, until } from './harness.ts';

/** Inquiries by transfer, and whether another about the same transfer was in flight when one arrived. */
const inquiriesById = new Map<string, number>();
const inFlight = new Set<string>();
let overlapping = 0;
let inFlightMax = 0;
let bankStatus = '00';
/** Until this many inquiries are in flight, the bank answers none. */
let heldUntil = 0;
let held = Promise.withResolvers<void>();

/** Answers some turns of the event loop later, when concurrent inquiries have arrived. */
const delayedAnswer: BankAnswer = async (request, response) => {
  const reference = referenceOf(request);
  inquiriesById.set(reference, (inquiriesById.get(reference) ?? 0) + 1);
  if (inFlight.has(reference)) overlapping += 1;
  inFlight.add(reference);
  inFlightMax = Math.max(inFlightMax, inFlight.size);
  if (inFlight.size >= heldUntil) held.resolve();
  await held.promise;
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  inFlight.delete(reference);
  answerStatus(bankStatus)(request, response);
};

const { keys, bank, bench } = await startBenchWithBank(delayedAnswer);
beforeEach(() => {
  inquiriesById.clear();
  overlapping = 0;
  inFlightMax = 0;
  bankStatus = '00';
  heldUntil = 0;
  held = Promise.withResolvers();
});

test('several processes that poll at the same moment make one inquiry about each transfer', async () => {
  const ids = idsOf('TP', 150);
  // More than one process may have in flight, so that none of them can make all inquiries while the others wait.
  heldUntil = CONCURRENCY_MAX + 1;
  await bench.insertTransactions(ids, START);
  const processes = [1, 2, 3].map(() => bench.startProcess({ rails: [bank.rail(keys)] }));
  const due = later(5 * SECOND_MS);
  const counts = await Promise.all(processes.map(({ inquiries }) => inquiries.poll(due)));
  assert.equal(
    counts.reduce((sum, each) => sum + each, 0),
    ids.length,
  );
  assert.ok(counts.filter((count) => count > 0).length > 1, `only one process made inquiries: ${counts.join(', ')}`);
  assert.deepEqual(new Set(inquiriesById.values()), new Set([1]));
  assert.equal(inquiriesById.size, ids.length);
  const transactions = await transactionsIn(bench.database);
  assert.deepEqual(new Set(ids.map((id) => transactions.get(id)?.status)), new Set(['SUCCESS']));
});

test('no two inquiries about a transfer are in flight at once, whether reads or the schedule cause them', async () => {
  const ids = idsOf('TR', 24);
  await bench.insertTransactions(ids, START);
  bankStatus = '03';
  const processes = [1, 2].map(() => bench.startProcess({ rails: [bank.rail(keys)], staleMs: 1_000 }));
  for (let round = 1; round <= 12; round += 1) {
    const now = later(round * 5 * SECOND_MS);
    await bench.setTime(now);
    const polls = processes.map(({ inquiries }) => inquiries.poll(now));
    const readers = processes.flatMap(({ inquiries }) =>
      ids.map((id) => inquiries.refresh('alpha', id, 'scripted-bank')),
    );
    await Promise.all([...polls, ...readers]);
  }
  assert.equal(overlapping, 0);
  assert.ok(inFlightMax > 1, 'no two inquiries were in flight at the same time');
  assert.deepEqual([...inquiriesById.keys()].toSorted(), ids);
  const count = [...inquiriesById.values()].reduce((sum, each) => sum + each, 0);
  assert.ok(count > ids.length * 6, `${count} inquiries in twelve rounds`);
});

test('two services on one database complete each transfer, with one inquiry at a time', async () => {
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
    const updates = ids.map((id) =>
      statusUpdate({ transaction_id: id, reference_id: id, rail: 'scripted-bank', rail_reference: id }),
    );
    assert.equal((await service.feed(updates)).json.data?.['inserted'], ids.length);
    // The first inquiry is due after five seconds; the test does not wait for it.
    await bench.database.query('update tiba.status_inquiries set next_at = $1 where transaction_id = any ($2)', [
      START,
      ids,
    ]);
    await until('all are final', async () => {
      const transactions = await transactionsIn(bench.database);
      return ids.every((id) => transactions.get(id)?.status === 'SUCCESS');
    });
    assert.equal(overlapping, 0);
    assert.deepEqual(new Set(inquiriesById.values()), new Set([1]));
  } finally {
    for (const service of services) await service.close();
  }
});
