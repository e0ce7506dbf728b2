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
 * Runs histories that fast-check generates against the service and against a plain model of its rules. A failure prints
 * how to repeat it: FC_SEED, FC_PATH and FC_REPLAY_PATH. MODEL_SECONDS makes the run longer than in the suite.
 */

const SECONDS = Number(process.env['MODEL_SECONDS'] ?? 6);
const COMMANDS_MAX = 40;
/** Each history starts with this many, and may register more. */
const ENDPOINTS = 2;
/** How long a failing history may be shrunk. */
const SHRINK_MS = 0;

const { FC_SEED, FC_PATH, FC_REPLAY_PATH } = process.env;
const seed = Number(FC_SEED ?? randomInt(2 ** 31));

let context: EndToEndContext;
before(async () => {
  context = await createContext(
    {
      rails: Array.from({ length: FIRST_PLAIN }, (_, index) => railOf(index)),
      overdueMinutes: OVERDUE_MINUTES,
      staleSeconds: 0.001,
    },
    () => ({ kind: 'status', status: 'PROCESS', railCode: '03' }),
  );
});
after(() => context?.close());

const all = { ...feedCommands, ...bankCommands, ...callbackCommands };
/** How many times more often than the others. Kills get none, because a restart takes long. */
const extraWeights: Partial<Record<keyof typeof all, number>> = {
  feedUpdates: 4,
  startTransaction: 3,
  readOne: 1,
  bankAnswers: 2,
  lateAnswer: 3,
  change: 2,
  changeReceiver: 1,
  makeDue: 1,
  replayOne: 1,
  replayRange: 3,
};
const histories = fc.commands(
  Object.entries<fc.Arbitrary<Command>>(all).flatMap(([name, command]) =>
    Array.from({ length: 1 + (extraWeights[name as keyof typeof all] ?? 0) }, () => command),
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
  if (!context.service.isRunning()) await restart(context);
  const model = createModel();
  const real = await startHistory(context);
  try {
    for (let count = 0; count < ENDPOINTS; count += 1) await registerEndpoint(model, real, [...EVENT_KINDS]);
    await fc.asyncModelRun(() => ({ model, real }), commands);
    await assertInvariants(real, model);
  } catch (error) {
    failedAtMs = Math.min(failedAtMs, performance.now());
    throw error;
  }
});

test('statuses stay correct and every event arrives, for all updates and wherever the service is killed', async (t) => {
  // With a path there is one history to repeat.
  const deadlineMs = performance.now() + (FC_PATH === undefined ? SECONDS * 1000 : 0);
  let count = 0;
  do {
    const path = FC_PATH === undefined ? {} : { path: FC_PATH };
    const result = await fc.check(property, { seed: seed + count, numRuns: 1, ...path });
    if (result.failed) throw new Error(fc.defaultReportMessage(result), { cause: result.errorInstance });
    count += 1;
  } while (performance.now() < deadlineMs);
  t.diagnostic(`FC_SEED=${seed}: ${count} histories, ${context.service.starts() - 1} kills`);
});
