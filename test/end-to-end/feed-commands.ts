import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { publishedReason } from '../../apps/server/src/domain/failure-reason.ts';
import type { FeedReport } from '../../apps/server/src/feed/report.ts';
import type { Answer } from '../support/requests.ts';
import { FIRST_PLAIN, OVERDUE_MINUTES, OVERDUE_STEP_MS } from './details.ts';
import { feed, type History, readAndCompare } from './history.ts';
import { applyUpdate, type Model, markOverdue, type Outcome, type Update } from './model.ts';

/** One step of a history. fast-check generates the steps, and removes those that a failure does not need. */
export type Command = fc.AsyncCommand<Model, History>;

/** Few indexes, so that several updates concern the same transaction. */
export const anyIndex = fc.nat(FIRST_PLAIN - 1);

/** Each transaction has a rail of its own, so that an inquiry about one never delays another. */
export const railOf = (index: number): string => `bank-${index}`;

const PROCESSED_AT = ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.679Z'] as const;
const REVERSED_AT = ['2026-02-03T04:05:06.789Z', '2026-02-03T04:05:06.790Z'] as const;
const REASONS = [publishedReason('ACCOUNT_NOT_FOUND'), publishedReason('BANK_UNAVAILABLE')] as const;

/** A status update with nothing but its status. */
export const BARE_UPDATE: Omit<Update, 'index' | 'status'> = {
  complete: false,
  flaw: 'none',
  processedAt: null,
  failureReason: null,
  reversedAt: null,
  rail: null,
};

const rarely = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> => fc.option(value, { freq: 3 });

export const anyUpdate = (complete: fc.Arbitrary<boolean>): fc.Arbitrary<Update> =>
  fc
    .record({
      index: anyIndex,
      claim: fc.constantFrom('PROCESS', 'PROCESS', 'SUCCESS', 'SUCCESS', 'FAILED', 'reversed'),
      complete,
      flaw: fc.constantFrom<Update['flaw'][]>(
        'none',
        'none',
        'none',
        'none',
        'right total',
        'wrong total',
        'other amount',
        'other name',
        'reference of another',
      ),
      processedAt: rarely(fc.constantFrom(...PROCESSED_AT)),
      failureReason: fc.constantFrom(...REASONS),
      reversedAt: fc.constantFrom(...REVERSED_AT),
      rail: fc.constantFrom('none', 'own', 'own', 'unknown'),
    })
    .map(({ index, claim, complete, flaw, processedAt, failureReason, reversedAt, rail }) => ({
      index,
      status: claim === 'reversed' ? 'SUCCESS' : claim,
      complete,
      flaw,
      processedAt: claim === 'PROCESS' ? null : processedAt,
      failureReason: claim === 'FAILED' ? failureReason : null,
      reversedAt: claim === 'reversed' ? reversedAt : null,
      rail: rail === 'none' ? null : rail === 'own' ? railOf(index) : 'unknown-bank',
    }));

const batch = (complete: fc.Arbitrary<boolean>): fc.Arbitrary<Update[]> =>
  fc.array(anyUpdate(complete), { minLength: 1, maxLength: 6 });

/** `answer` is null when the batch was sent again: then its report is about a repetition. */
function assertReport(answer: Answer | null, outcomes: readonly Outcome[]): void {
  if (answer === null) return;
  const report = answer.json.data as unknown as FeedReport;
  const count = (outcome: Outcome): number => outcomes.filter((each) => each === outcome).length;
  const linesOf = (outcome: Outcome): number[] =>
    outcomes.flatMap((each, index) => (each === outcome ? [index + 1] : []));
  assert.deepEqual(
    {
      inserted: report.inserted,
      advanced: report.advanced,
      unchanged: report.unchanged,
      conflicts: report.conflicts.map(({ line }) => line),
      rejected: report.rejected.map(({ line }) => line),
    },
    {
      inserted: count('inserted'),
      advanced: count('advanced'),
      unchanged: count('unchanged'),
      conflicts: linesOf('conflict'),
      rejected: linesOf('rejected'),
    },
  );
}

const readAllAndCompare = async (history: History, model: Model, updates: readonly Update[]): Promise<void> => {
  for (const index of new Set(updates.map((update) => update.index))) await readAndCompare(history, model, index);
};

const feedUpdates = batch(fc.boolean()).map(
  (updates): Command => ({
    check: () => true,
    async run(model, history) {
      const outcomes = updates.map((update) => applyUpdate(model, update));
      const answer = await feed(history, updates);
      assertReport(answer, outcomes);
      await readAllAndCompare(history, model, updates);
    },
    toString: () => `feed ${JSON.stringify(updates)}`,
  }),
);

/**
 * All updates are complete: an incomplete one is rejected when its transaction does not exist yet and accepted when the
 * batch is sent again, so the batch would not have the same effect twice.
 */
const feedUpdatesAndKill = fc.record({ updates: batch(fc.constant(true)), afterMs: fc.nat(12) }).map(
  ({ updates, afterMs }): Command => ({
    check: () => true,
    async run(model, history) {
      for (const update of updates) applyUpdate(model, update);
      await feed(history, updates, async () => {
        await delay(afterMs);
        await history.service.kill();
      });
      await readAllAndCompare(history, model, updates);
    },
    toString: () => `kill -9 ${afterMs} ms into feed ${JSON.stringify(updates)}`,
  }),
);

/** A disbursement starts as most do: with a rail over which its bank can be inquired. */
const startTransaction = anyIndex.map(
  (index): Command => ({
    check: ({ transactions }) => !transactions.has(index),
    async run(model, history) {
      const update: Update = { ...BARE_UPDATE, index, status: 'PROCESS', complete: true, rail: railOf(index) };
      const outcome = applyUpdate(model, update);
      const answer = await feed(history, [update]);
      assertReport(answer, [outcome]);
    },
    toString: () => `start transaction ${index}`,
  }),
);

const readOne = anyIndex.map(
  (index): Command => ({
    check: () => true,
    run: (model, history) => readAndCompare(history, model, index),
    toString: () => `read ${index}`,
  }),
);

const passDeadlines = anyIndex.map(
  (upTo): Command => ({
    check: () => true,
    async run(model, history) {
      markOverdue(model, upTo);
      const lastExpectedMs = history.context.startedMs + upTo * OVERDUE_STEP_MS + OVERDUE_MINUTES * 60_000;
      await history.service.markOverdue(new Date(lastExpectedMs + 60_000));
      for (let index = 0; index < FIRST_PLAIN; index += 1) await readAndCompare(history, model, index);
    },
    toString: () => `overdue up to ${upTo}`,
  }),
);

export const feedCommands = {
  feedUpdates,
  feedUpdatesAndKill,
  startTransaction,
  readOne,
  passDeadlines,
};
