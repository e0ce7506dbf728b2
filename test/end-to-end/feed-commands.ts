import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { publishedReason } from '../../apps/server/src/domain/failure-reason.ts';
import type { FeedReport } from '../../apps/server/src/feed/feed.ts';
import type { Answer } from '../support/service.ts';
import { FIRST_PLAIN, OVERDUE_MINUTES, OVERDUE_STEP_MS } from './details.ts';
import { feed, type History, readAndCompare } from './history.ts';
import { applyUpdate, type Model, markOverdue, type Outcome, type Update } from './model.ts';

/** What happens to a history; fast-check makes them up, and takes away what a failure does not need. */
export type Command = fc.AsyncCommand<Model, History>;

/** Few, so that words meet. */
export const anyIndex = fc.nat(FIRST_PLAIN - 1);

/** The rail that can be asked about the transaction of this place: of its own, so that no other waits for its bank. */
export const railOf = (index: number): string => `bank-${index}`;

const PROCESSED_AT = ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.679Z'] as const;
const REVERSED_AT = ['2026-02-03T04:05:06.789Z', '2026-02-03T04:05:06.790Z'] as const;
const REASONS = [publishedReason('ACCOUNT_NOT_FOUND'), publishedReason('BANK_UNAVAILABLE')] as const;

/** A word that says nothing besides its status. */
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

/** Null where nothing can be said, because the words had to be sent again. */
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

const readAllAndCompare = async (history: History, model: Model, words: readonly Update[]): Promise<void> => {
  for (const place of new Set(words.map((word) => word.index))) await readAndCompare(history, model, place);
};

const feedUpdates = batch(fc.boolean()).map(
  (words): Command => ({
    check: () => true,
    async run(model, history) {
      const outcomes = words.map((word) => applyUpdate(model, word));
      const answer = await feed(history, words);
      assertReport(answer, outcomes);
      await readAllAndCompare(history, model, words);
    },
    toString: () => `feed ${JSON.stringify(words)}`,
  }),
);

/**
 * All words are complete: one that is refused because nothing is known yet would be understood when the batch comes
 * again, and then a batch would not be the same twice.
 */
const feedUpdatesAndKill = fc.record({ words: batch(fc.constant(true)), afterMs: fc.nat(12) }).map(
  ({ words, afterMs }): Command => ({
    check: () => true,
    async run(model, history) {
      for (const word of words) applyUpdate(model, word);
      await feed(history, words, async () => {
        await delay(afterMs);
        await history.service.kill();
      });
      await readAllAndCompare(history, model, words);
    },
    toString: () => `kill -9 ${afterMs} ms into feed ${JSON.stringify(words)}`,
  }),
);

/** A disbursement begins as most do: its bank can be asked. */
const startTransaction = anyIndex.map(
  (index): Command => ({
    check: ({ transactions }) => !transactions.has(index),
    async run(model, history) {
      const word: Update = { ...BARE_UPDATE, index, status: 'PROCESS', complete: true, rail: railOf(index) };
      const outcome = applyUpdate(model, word);
      const answer = await feed(history, [word]);
      assertReport(answer, [outcome]);
    },
    toString: () => `${index} begins`,
  }),
);

const readOne = anyIndex.map(
  (place): Command => ({
    check: () => true,
    run: (model, history) => readAndCompare(history, model, place),
    toString: () => `look at ${place}`,
  }),
);

const passDeadlines = anyIndex.map(
  (upTo): Command => ({
    check: () => true,
    async run(model, history) {
      markOverdue(model, upTo);
      const lastExpectedMs = history.context.startedMs + upTo * OVERDUE_STEP_MS + OVERDUE_MINUTES * 60_000;
      await history.service.markOverdue(new Date(lastExpectedMs + 60_000));
      for (let place = 0; place < FIRST_PLAIN; place += 1) await readAndCompare(history, model, place);
    },
    toString: () => `overdue up to ${upTo}`,
  }),
);

export const feedCommands = {
  feedWords: feedUpdates,
  feedWordsAndKill: feedUpdatesAndKill,
  beginOne: startTransaction,
  lookAt: readOne,
  letTimePass: passDeadlines,
};
