import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type FailureReason, publishedReason } from '../../apps/server/src/domain/failure-reason.ts';
import { detailsOf } from './details.ts';
import { anyIndex, anyUpdate, BARE_UPDATE, type Command, railOf } from './feed-commands.ts';
import { railReferenceOf } from './feed-message.ts';
import { feed, type History, makeInquiriesDue, readAndCompare, restart, until } from './history.ts';
import type { BankAnswer } from './messages.ts';
import { applyUpdate, type Model, TIME_APPLIED, type Update } from './model.ts';

const REASON: FailureReason = 'ACCOUNT_BLOCKED';
const PROCESSED_AT = '2026-01-02T03:04:05.678Z';

/** What a bank may say, as a word of the model; null where it says nothing. */
const ANSWERS: Readonly<Record<string, { readonly answer: BankAnswer; readonly word: Partial<Update> | null }>> = {
  success: { answer: { kind: 'status', status: 'SUCCESS', railCode: '00' }, word: { status: 'SUCCESS' } },
  'success with its time': {
    answer: { kind: 'status', status: 'SUCCESS', processedAt: PROCESSED_AT, railCode: '00' },
    word: { status: 'SUCCESS', processedAt: PROCESSED_AT },
  },
  failed: {
    answer: { kind: 'status', status: 'FAILED', failureReason: REASON, railCode: '06' },
    word: { status: 'FAILED', failureReason: publishedReason(REASON) },
  },
  'given back': {
    answer: { kind: 'status', status: 'FAILED', failureReason: REASON, reversed: true, railCode: '04' },
    word: { status: 'FAILED', failureReason: publishedReason(REASON) },
  },
  pending: { answer: { kind: 'status', status: 'PROCESS', railCode: '03' }, word: null },
  'not found': { answer: { kind: 'unknown_transfer', railCode: '4041701' }, word: null },
  'no answer': { answer: { kind: 'no_status', reason: 'timeout', railCode: null }, word: null },
  garbage: { answer: 'garbage', word: null },
};
const answerNames = fc.constantFrom(...Object.keys(ANSWERS));

/**
 * The bank's word comes in, and where it says that money came back which is known to have arrived, that it did. How many
 * words are kept of it, beside those that say nothing new.
 */
function applyBankAnswer(model: Model, index: number, name: string): number {
  const word = ANSWERS[name]?.word ?? null;
  if (word === null) return 0;
  const outcome = applyUpdate(model, { ...BARE_UPDATE, index, status: 'PROCESS', ...word });
  if (name !== 'given back' || outcome !== 'conflict') return 1;
  applyUpdate(model, { ...BARE_UPDATE, index, status: 'SUCCESS', reversedAt: TIME_APPLIED });
  return 2;
}

const canBeInquired = (model: Readonly<Model>, place: number): boolean => {
  const known = model.transactions.get(place);
  return known?.status === 'PROCESS' && known.rail === railOf(place);
};

/** How often its bank has said that it is final. */
async function countUpdates({ database, context }: History, place: number): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `select count(*)::int as count from tiba.status_updates where client_id = $1 and transaction_id = $2 and source = $3 and raw->>'status' <> 'PROCESS'`,
    [context.clientId, detailsOf(place).transactionId, `rail:${railOf(place)}`],
  );
  return row?.count ?? 0;
}

/** Somebody is still waiting for the bank, or storing what it said. */
async function isClaimed({ database, context }: History, place: number): Promise<boolean> {
  const rows = await database.query(
    `select from tiba.status_inquiries where client_id = $1 and transaction_id = $2 and claimed_until is not null`,
    [context.clientId, detailsOf(place).transactionId],
  );
  return rows.length > 0;
}

/**
 * Somebody reads, so the bank is asked; false when it is not, because it was in trouble. `meanwhile` runs before it
 * answers, `afterwards` as soon as it has.
 */
async function inquire(
  history: History,
  place: number,
  name: string,
  { meanwhile = async () => {}, afterwards = () => {} }: Partial<Interruptions> = {},
): Promise<boolean> {
  const reference = railReferenceOf(place, history.context);
  const answer: BankAnswer = ANSWERS[name]?.answer ?? 'garbage';
  const answering = Promise.withResolvers<BankAnswer>();
  let wasAsked = false;
  await makeInquiriesDue(history);
  history.banks.set(reference, () => {
    history.banks.delete(reference);
    wasAsked = true;
    meanwhile().then(() => {
      answering.resolve(answer);
      // Behind the sending of the answer.
      setImmediate(afterwards);
    }, answering.reject);
    return answering.promise;
  });
  // Answered without it when it takes long; cut off when the service is killed.
  await history.caller.call('GET', `/api/v1/check-status/${detailsOf(place).transactionId}`).catch(() => {});
  history.banks.delete(reference);
  if (wasAsked) await answering.promise;
  return wasAsked;
}

interface Interruptions {
  readonly meanwhile: () => Promise<void>;
  readonly afterwards: () => void;
}

/** Until there are so many words of its bank, and nobody waits for it any more. */
async function untilStored(history: History, place: number, words: number): Promise<void> {
  await until(`${words} words of the bank are stored`, async () => (await countUpdates(history, place)) >= words);
  await until('nobody waits for the bank', async () => !(await isClaimed(history, place)));
}

const bankAnswers = fc.record({ place: anyIndex, name: answerNames }).map(
  ({ place, name }): Command => ({
    check: (model) => canBeInquired(model, place),
    async run(model, history) {
      const before = await countUpdates(history, place);
      if (await inquire(history, place, name))
        await untilStored(history, place, before + applyBankAnswer(model, place, name));
      await readAndCompare(history, model, place);
    },
    toString: () => `ask about ${place}: ${name}`,
  }),
);

const lateAnswer = fc
  // What a bank gives back that was known to have arrived is the one that only this order of things brings about.
  .record({
    place: anyIndex,
    name: fc.oneof(fc.constant('given back'), answerNames),
    words: fc.array(anyUpdate(fc.boolean()), { minLength: 1, maxLength: 3 }),
  })
  .map(({ place, name, words }): Command => {
    const meant = words.map((word) => ({ ...word, about: place, rail: null }));
    return {
      check: (model) => canBeInquired(model, place),
      async run(model, history) {
        const before = await countUpdates(history, place);
        const meanwhile = async (): Promise<void> => {
          for (const word of meant) applyUpdate(model, word);
          await feed(history, meant);
        };
        const asked = await inquire(history, place, name, { meanwhile });
        if (asked) await untilStored(history, place, before + applyBankAnswer(model, place, name));
        await readAndCompare(history, model, place);
      },
      toString: () => `ask about ${place}, hear ${JSON.stringify(meant)}, then the bank: ${name}`,
    };
  });

const killedDuringInquiry = fc.record({ place: anyIndex, name: answerNames, answeredForMs: fc.option(fc.nat(8)) }).map(
  ({ place, name, answeredForMs }): Command => ({
    check: (model) => canBeInquired(model, place),
    async run(model, history) {
      const { service } = history;
      const killing =
        answeredForMs === null
          ? { meanwhile: service.kill }
          : { afterwards: () => void setTimeout(() => void service.kill(), answeredForMs) };
      if (await inquire(history, place, name, killing)) {
        await service.ended();
        await restart(history);
        const words = applyBankAnswer(model, place, name);
        // Either it was stored, or it can be asked again.
        if ((await countUpdates(history, place)) < words) {
          assert.ok(await inquire(history, place, name), 'what the killed process has not stored is asked again');
        }
        await untilStored(history, place, words);
      }
      await readAndCompare(history, model, place);
    },
    toString: () => `kill -9 ${answeredForMs ?? 'instead of'} ms after the answer about ${place}: ${name}`,
  }),
);

export const bankCommands = { bankAnswers, answerComesLate: lateAnswer, killedWhileAsking: killedDuringInquiry };
