import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { publishedReason } from '../../apps/server/src/domain/failure-reason.ts';
import type { FeedReport } from '../../apps/server/src/feed/feed.ts';
import type { Answer } from '../support/service.ts';
import { FIRST_PLAIN, OVERDUE_MINUTES, OVERDUE_STEP_MS } from './details.ts';
import { feed, type History, look } from './history.ts';
import { hear, type Model, type Outcome, passTime, type Said } from './model.ts';

/** What happens to a history; fast-check makes them up, and takes away what a failure does not need. */
export type Command = fc.AsyncCommand<Model, History>;

/** Few, so that words meet. */
export const about = fc.nat(FIRST_PLAIN - 1);

/** The rail that can be asked about the transaction of this place: of its own, so that no other waits for its bank. */
export const railOf = (place: number): string => `bank-${place}`;

const PROCESSED_AT = ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.679Z'] as const;
const REVERSED_AT = ['2026-02-03T04:05:06.789Z', '2026-02-03T04:05:06.790Z'] as const;
const REASONS = [publishedReason('ACCOUNT_NOT_FOUND'), publishedReason('BANK_UNAVAILABLE')] as const;

/** A word that says nothing besides its status. */
export const SILENT: Omit<Said, 'about' | 'status'> = {
  complete: false,
  twist: 'none',
  processedAt: null,
  failureReason: null,
  reversedAt: null,
  rail: null,
};

const rarely = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> => fc.option(value, { freq: 3 });

export const said = (complete: fc.Arbitrary<boolean>): fc.Arbitrary<Said> =>
  fc
    .record({
      about,
      claim: fc.constantFrom('PROCESS', 'PROCESS', 'SUCCESS', 'SUCCESS', 'FAILED', 'reversed'),
      complete,
      twist: fc.constantFrom<Said['twist'][]>(
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
      rail: fc.constantFrom('none', 'own', 'own', 'unheard of'),
    })
    .map(({ about, claim, complete, twist, processedAt, failureReason, reversedAt, rail }) => ({
      about,
      status: claim === 'reversed' ? 'SUCCESS' : claim,
      complete,
      twist,
      processedAt: claim === 'PROCESS' ? null : processedAt,
      failureReason: claim === 'FAILED' ? failureReason : null,
      reversedAt: claim === 'reversed' ? reversedAt : null,
      rail: rail === 'none' ? null : rail === 'own' ? railOf(about) : 'unheard-of',
    }));

const batch = (complete: fc.Arbitrary<boolean>): fc.Arbitrary<Said[]> =>
  fc.array(said(complete), { minLength: 1, maxLength: 6 });

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

const lookAtAll = async (history: History, model: Model, words: readonly Said[]): Promise<void> => {
  for (const place of new Set(words.map((word) => word.about))) await look(history, model, place);
};

const feedWords = batch(fc.boolean()).map(
  (words): Command => ({
    check: () => true,
    async run(model, history) {
      const outcomes = words.map((word) => hear(model, word));
      const answer = await feed(history, words);
      assertReport(answer, outcomes);
      await lookAtAll(history, model, words);
    },
    toString: () => `feed ${JSON.stringify(words)}`,
  }),
);

/**
 * All words are complete: one that is refused because nothing is known yet would be understood when the batch comes
 * again, and then a batch would not be the same twice.
 */
const feedWordsAndKill = fc.record({ words: batch(fc.constant(true)), afterMs: fc.nat(12) }).map(
  ({ words, afterMs }): Command => ({
    check: () => true,
    async run(model, history) {
      for (const word of words) hear(model, word);
      await feed(history, words, async () => {
        await delay(afterMs);
        await history.service.kill();
      });
      await lookAtAll(history, model, words);
    },
    toString: () => `kill -9 ${afterMs} ms into feed ${JSON.stringify(words)}`,
  }),
);

/** A disbursement begins as most do: its bank can be asked. */
const beginOne = about.map(
  (place): Command => ({
    check: ({ transactions }) => !transactions.has(place),
    async run(model, history) {
      const word: Said = { ...SILENT, about: place, status: 'PROCESS', complete: true, rail: railOf(place) };
      const outcome = hear(model, word);
      const answer = await feed(history, [word]);
      assertReport(answer, [outcome]);
    },
    toString: () => `${place} begins`,
  }),
);

const lookAt = about.map(
  (place): Command => ({
    check: () => true,
    run: (model, history) => look(history, model, place),
    toString: () => `look at ${place}`,
  }),
);

const letTimePass = about.map(
  (upTo): Command => ({
    check: () => true,
    async run(model, history) {
      passTime(model, upTo);
      const lastExpectedMs = history.circumstances.begunMs + upTo * OVERDUE_STEP_MS + OVERDUE_MINUTES * 60_000;
      await history.service.observeTime(new Date(lastExpectedMs + 60_000));
      for (let place = 0; place < FIRST_PLAIN; place += 1) await look(history, model, place);
    },
    toString: () => `overdue up to ${upTo}`,
  }),
);

export const wordCommands = { feedWords, feedWordsAndKill, beginOne, lookAt, letTimePass };
