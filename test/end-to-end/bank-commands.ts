import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type FailureReason, publishedReason } from '../../apps/server/src/domain/failure-reason.ts';
import { listStatusUpdates } from '../../apps/server/src/postgres/status-updates.ts';
import { detailsOf } from './details.ts';
import { anyIndex, anyUpdate, BARE_UPDATE, type Command, railOf } from './feed-commands.ts';
import { railReferenceOf } from './feed-message.ts';
import { feed, type History, makeInquiriesDue, readAndCompare, restart, until } from './history.ts';
import type { BankAnswer } from './messages.ts';
import { applyUpdate, type Model, TIME_APPLIED, type Update } from './model.ts';

const REASON: FailureReason = 'ACCOUNT_BLOCKED';
const PROCESSED_AT = '2026-01-02T03:04:05.678Z';

/** The answers of a bank, each with the status update of the model that follows from it; null where none does. */
const ANSWERS: Readonly<Record<string, { readonly answer: BankAnswer; readonly update: Partial<Update> | null }>> = {
  success: { answer: { kind: 'status', status: 'SUCCESS', railCode: '00' }, update: { status: 'SUCCESS' } },
  'success with its time': {
    answer: { kind: 'status', status: 'SUCCESS', processedAt: PROCESSED_AT, railCode: '00' },
    update: { status: 'SUCCESS', processedAt: PROCESSED_AT },
  },
  failed: {
    answer: { kind: 'status', status: 'FAILED', failureReason: REASON, railCode: '06' },
    update: { status: 'FAILED', failureReason: publishedReason(REASON) },
  },
  reversed: {
    answer: { kind: 'status', status: 'FAILED', failureReason: REASON, reversed: true, railCode: '04' },
    update: { status: 'FAILED', failureReason: publishedReason(REASON) },
  },
  pending: { answer: { kind: 'status', status: 'PROCESS', railCode: '03' }, update: null },
  'not found': { answer: { kind: 'unknown_transfer', railCode: '4041701' }, update: null },
  timeout: { answer: { kind: 'no_status', reason: 'timeout', railCode: null }, update: null },
  garbage: { answer: 'garbage', update: null },
};
const answerNames = fc.constantFrom(...Object.keys(ANSWERS));

/**
 * Applies the bank's answer to the model. When the bank reports that it returned the money of a transfer that has
 * succeeded, that is a reversal. Returns how many final updates the service must store.
 */
function applyBankAnswer(model: Model, index: number, name: string): number {
  const update = ANSWERS[name]?.update ?? null;
  if (update === null) return 0;
  const reverses = name === 'reversed' && model.transactions.get(index)?.status === 'SUCCESS';
  const applied: Partial<Update> = reverses ? { status: 'SUCCESS', reversedAt: TIME_APPLIED } : update;
  applyUpdate(model, { ...BARE_UPDATE, index, status: 'PROCESS', ...applied });
  return 1;
}

const canBeInquired = (model: Readonly<Model>, index: number): boolean => {
  const transaction = model.transactions.get(index);
  return transaction?.status === 'PROCESS' && transaction.rail === railOf(index);
};

/** More than a run of the model makes. */
const UPDATES_MAX = 10_000;

const statusOf = (raw: string | null): unknown => (JSON.parse(raw ?? '{}') as { status?: unknown }).status;

/** How many final status updates of its bank are stored. */
async function countUpdates({ database, context }: History, index: number): Promise<number> {
  const { transactionId } = detailsOf(index);
  const updates = await listStatusUpdates(database, { clientId: context.clientId, transactionId }, UPDATES_MAX);
  const source = `rail:${railOf(index)}`;
  return updates.filter((update) => update.source === source && statusOf(update.raw) !== 'PROCESS').length;
}

/** Whether the service still waits for the bank's answer, or is storing it. */
async function isClaimed({ database, context }: History, index: number): Promise<boolean> {
  const rows = await database.query(
    `select from tiba.status_inquiries where client_id = $1 and transaction_id = $2 and claimed_until is not null`,
    [context.clientId, detailsOf(index).transactionId],
  );
  return rows.length > 0;
}

/**
 * Reads the transaction so that the service inquires at the bank. Returns false when it sends no inquiry because the
 * bank failed before. `beforeAnswer` runs before the bank answers, `afterAnswer` as soon as it has answered.
 */
async function inquire(
  history: History,
  index: number,
  name: string,
  { beforeAnswer = async () => {}, afterAnswer = () => {} }: Partial<Interruptions> = {},
): Promise<boolean> {
  const reference = railReferenceOf(index, history.context);
  const answer: BankAnswer = ANSWERS[name]?.answer ?? 'garbage';
  const answering = Promise.withResolvers<BankAnswer>();
  let wasInquired = false;
  await makeInquiriesDue(history);
  history.banks.set(reference, () => {
    history.banks.delete(reference);
    wasInquired = true;
    beforeAnswer().then(() => {
      answering.resolve(answer);
      // setImmediate: after the answer was sent.
      setImmediate(afterAnswer);
    }, answering.reject);
    return answering.promise;
  });
  // The service answers without the bank when that takes long. The request fails when the service is killed.
  await history.caller.call('GET', `/api/v1/check-status/${detailsOf(index).transactionId}`).catch(() => {});
  history.banks.delete(reference);
  if (wasInquired) await answering.promise;
  return wasInquired;
}

interface Interruptions {
  readonly beforeAnswer: () => Promise<void>;
  readonly afterAnswer: () => void;
}

/** Waits until this many updates of the bank are stored and no inquiry is in flight. */
async function untilStored(history: History, index: number, count: number): Promise<void> {
  await until(`${count} updates of the bank are stored`, async () => (await countUpdates(history, index)) >= count);
  await until('no inquiry is in flight', async () => !(await isClaimed(history, index)));
}

const bankAnswers = fc.record({ index: anyIndex, name: answerNames }).map(
  ({ index, name }): Command => ({
    check: (model) => canBeInquired(model, index),
    async run(model, history) {
      const before = await countUpdates(history, index);
      if (await inquire(history, index, name))
        await untilStored(history, index, before + applyBankAnswer(model, index, name));
      await readAndCompare(history, model, index);
    },
    toString: () => `inquire about ${index}: ${name}`,
  }),
);

const lateAnswer = fc
  // Only this order can produce a reversal of a transfer that has already succeeded.
  .record({
    index: anyIndex,
    name: fc.oneof(fc.constant('reversed'), answerNames),
    updates: fc.array(anyUpdate(fc.boolean()), { minLength: 1, maxLength: 3 }),
  })
  .map(({ index, name, updates: any }): Command => {
    const updates = any.map((update) => ({ ...update, index, rail: null }));
    return {
      check: (model) => canBeInquired(model, index),
      async run(model, history) {
        const before = await countUpdates(history, index);
        const beforeAnswer = async (): Promise<void> => {
          for (const update of updates) applyUpdate(model, update);
          await feed(history, updates);
        };
        const inquired = await inquire(history, index, name, { beforeAnswer });
        if (inquired) await untilStored(history, index, before + applyBankAnswer(model, index, name));
        await readAndCompare(history, model, index);
      },
      toString: () => `inquire about ${index}, feed ${JSON.stringify(updates)}, then the bank answers: ${name}`,
    };
  });

const killedDuringInquiry = fc.record({ index: anyIndex, name: answerNames, msAfterAnswer: fc.option(fc.nat(8)) }).map(
  ({ index, name, msAfterAnswer }): Command => ({
    check: (model) => canBeInquired(model, index),
    async run(model, history) {
      const { service } = history;
      const interruption =
        msAfterAnswer === null
          ? { beforeAnswer: service.kill }
          : { afterAnswer: () => void setTimeout(() => void service.kill(), msAfterAnswer) };
      if (await inquire(history, index, name, interruption)) {
        await service.ended();
        await restart(history);
        const count = applyBankAnswer(model, index, name);
        // Either the answer was stored, or the bank can be inquired again.
        if ((await countUpdates(history, index)) < count) {
          assert.ok(
            await inquire(history, index, name),
            'an answer that the killed process did not store is inquired again',
          );
        }
        await untilStored(history, index, count);
      }
      await readAndCompare(history, model, index);
    },
    toString: () =>
      msAfterAnswer === null
        ? `kill -9 before the answer about ${index}: ${name}`
        : `kill -9 ${msAfterAnswer} ms after the answer about ${index}: ${name}`,
  }),
);

export const bankCommands = { bankAnswers, lateAnswer, killedDuringInquiry };
