import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { EVENT_KINDS } from '../../apps/server/src/domain/event.ts';
import { bankCommands } from './bank-commands.ts';
import { callbackCommands, registerEndpoint } from './callback-commands.ts';
import { createContext, type EndToEndContext } from './context.ts';
import { FIRST_PLAIN, OVERDUE_MINUTES } from './details.ts';
import { type Command, feedCommands, railOf } from './feed-commands.ts';
import { restart, startHistory } from './history.ts';
import { assertInvariants } from './invariants.ts';
import { createModel } from './model.ts';

/**
 * Histories that fast-check makes up run against the service and against a plain model of its rules. A failure prints
 * what repeats it: FC_SEED, FC_PATH and FC_REPLAY_PATH. MODEL_SECONDS runs it for longer than the suite does.
 */

const SECONDS = Number(process.env['MODEL_SECONDS'] ?? 12);
const COMMANDS_MAX = 40;
/** Each history begins with these, and may register more. */
const ENDPOINTS = 2;
/** A failure is made shorter for so long. */
const SHRINK_MS = 0;

const { FC_SEED, FC_PATH, FC_REPLAY_PATH } = process.env;
const seed = Number(FC_SEED ?? randomInt(2 ** 31));

let stage: EndToEndContext;
before(async () => {
  stage = await createContext(
    {
      rails: Array.from({ length: FIRST_PLAIN }, (_, place) => railOf(place)),
      overdueMinutes: OVERDUE_MINUTES,
      staleSeconds: 0.001,
    },
    () => ({ kind: 'status', status: 'PROCESS', railCode: '03' }),
  );
});
after(() => stage?.close());

const all = { ...feedCommands, ...bankCommands, ...callbackCommands };
/** How many times more often than the others: words first, and last what kills, because starting again takes long. */
const more: Partial<Record<keyof typeof all, number>> = {
  feedWords: 4,
  beginOne: 3,
  lookAt: 1,
  bankAnswers: 2,
  answerComesLate: 3,
  change: 2,
  receiverTurns: 1,
  comeDue: 1,
  replayOne: 1,
  replayRange: 3,
};
const histories = fc.commands(
  Object.entries<fc.Arbitrary<Command>>(all).flatMap(([name, command]) =>
    Array.from({ length: 1 + (more[name as keyof typeof all] ?? 0) }, () => command),
  ),
  {
    maxCommands: COMMANDS_MAX,
    size: 'max',
    ...(FC_REPLAY_PATH === undefined ? {} : { replayPath: FC_REPLAY_PATH }),
  },
);

let failedAtMs = Number.POSITIVE_INFINITY;
const property = fc.asyncProperty(histories, async (commands) => {
  if (performance.now() > failedAtMs + SHRINK_MS) return;
  if (!stage.service.isRunning()) await restart(stage);
  const model = createModel();
  const real = await startHistory(stage);
  try {
    for (let count = 0; count < ENDPOINTS; count += 1) await registerEndpoint(model, real, [...EVENT_KINDS]);
    await fc.asyncModelRun(() => ({ model, real }), commands);
    await assertInvariants(real, model);
  } catch (error) {
    failedAtMs = Math.min(failedAtMs, performance.now());
    throw error;
  }
});

test('statuses stay true and every event arrives, whatever is said and wherever the service is killed', async (t) => {
  // A path leads to one history.
  const deadlineMs = performance.now() + (FC_PATH === undefined ? SECONDS * 1000 : 0);
  let count = 0;
  do {
    const path = FC_PATH === undefined ? {} : { path: FC_PATH };
    const result = await fc.check(property, { seed: seed + count, numRuns: 1, ...path });
    if (result.failed) throw new Error(fc.defaultReportMessage(result), { cause: result.errorInstance });
    count += 1;
  } while (performance.now() < deadlineMs);
  t.diagnostic(`FC_SEED=${seed}: ${count} histories, ${stage.service.starts() - 1} kills`);
});
