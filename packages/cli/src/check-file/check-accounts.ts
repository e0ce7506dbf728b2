import { setTimeout as delay } from 'node:timers/promises';
import type {
  AccountValidationProgress,
  AccountValidationResult,
  TibaClient,
  TibaError,
} from '../../../client/src/index.ts';
import { CommandError, isTibaError } from '../errors.ts';
import { halve, type Part } from './plan.ts';
import type { Account } from './read-rows.ts';
import { idempotencyKeyOf, type PartState, type RunState, saveRun } from './run-state.ts';
import { type Retrying, untilAnswered } from './until-answered.ts';

export interface CheckDependencies extends Retrying {
  readonly client: Pick<TibaClient, 'accountValidations'>;
  readonly accounts: readonly Account[];
  readonly stateFile: string;
  /** Called with the accounts that have been answered since the last call, and with what the service says. */
  readonly onProgress: (answered: number, progress: AccountValidationProgress) => void;
}

/** By the index of the account. Null where its validation was cancelled before. */
export type Results = readonly (AccountValidationResult | null)[];

/** A client may have ten validations at a time; these leave room for others of the same client. */
const PARTS_AT_ONCE = 4;
/** Reading and storing 50,000 accounts takes the service seconds. */
const CREATE_TIMEOUT_MS = 120_000;
const LIMIT_WAIT_MS = 15_000;
/** Without any progress for this time, a person should know that the rest of the file waits for a limit. */
const LIMIT_WAIT_MS_MAX = 15 * 60_000;

/** Has all accounts of a run checked, part by part. It goes on with the validations that the run has created before. */
export async function checkAccounts(run: RunState, dependencies: CheckDependencies): Promise<Results> {
  const results: (AccountValidationResult | null)[] = dependencies.accounts.map(() => null);
  const failure = new AbortController();
  const context: Context = {
    ...dependencies,
    signal: AbortSignal.any([dependencies.signal, failure.signal]),
    results,
    state: run,
    queue: [...run.parts],
    running: 0,
    waiting: 0,
    limit: null,
    progressedMs: Date.now(),
    saving: Promise.resolve(),
  };
  async function work(): Promise<void> {
    for (let part = context.queue.shift(); part !== undefined; part = context.queue.shift()) {
      context.running += 1;
      try {
        await checkPart(context, part);
      } finally {
        context.running -= 1;
        context.progressedMs = Date.now();
      }
    }
  }
  const stopOthers = (error: unknown): never => {
    failure.abort(error);
    throw error;
  };
  const workers = Array.from({ length: PARTS_AT_ONCE }, () => work().catch(stopOthers));
  await Promise.allSettled(workers);
  dependencies.signal.throwIfAborted();
  failure.signal.throwIfAborted();
  return results;
}

interface Context extends CheckDependencies {
  readonly results: (AccountValidationResult | null)[];
  state: RunState;
  readonly queue: PartState[];
  /** Parts that workers have. */
  running: number;
  /** Those of them that wait for the service's limit of validations. */
  waiting: number;
  /** What the service has said last about that limit. */
  limit: string | null;
  /** When a part was created or ended, or an account was answered. */
  progressedMs: number;
  saving: Promise<void>;
}

async function checkPart(context: Context, part: PartState): Promise<void> {
  const id = part.validation_id ?? (await createValidation(context, part));
  if (id !== null) await followValidation(context, part, id);
}

/** Replaces a part in the state and waits until that is on the disk. */
async function replacePart(context: Context, former: Part, parts: readonly PartState[]): Promise<void> {
  const others = context.state.parts.flatMap((each) => (each.first === former.first ? parts : [each]));
  context.state = { ...context.state, parts: others };
  const { state, stateFile } = context;
  context.saving = context.saving.then(() => saveRun(stateFile, state));
  await context.saving;
}

/** The ID of the part's validation; null when the part was too large and its halves are in the queue. */
async function createValidation(context: Context, part: PartState): Promise<string | null> {
  const { client, accounts, signal, state, queue } = context;
  const options = { idempotencyKey: idempotencyKeyOf(state, part), timeoutMs: CREATE_TIMEOUT_MS, signal };
  const upload = { accounts: accounts.slice(part.first, part.first + part.count) };
  for (;;) {
    try {
      const created = await untilAnswered(() => client.accountValidations.create(upload, options), context);
      context.progressedMs = Date.now();
      await replacePart(context, part, [{ ...part, validation_id: created.validation_id }]);
      return created.validation_id;
    } catch (error) {
      if (!isTibaError(error)) throw error;
      if (isTooLarge(error) && part.count > 1) {
        const halves = halve(part).map(({ first, count }) => ({ first, count, validation_id: null }));
        await replacePart(context, part, halves);
        queue.push(...halves);
        return null;
      }
      if (error.error_code !== 'VALIDATION_LIMIT_REACHED') throw error;
      await waitForRoom(context, error);
    }
  }
}

/** Room comes when another part has ended. @throws the refusal when that is not to be expected */
async function waitForRoom(context: Context, refusal: TibaError): Promise<void> {
  const message = refusal.message.replace(`${refusal.error_code}: `, '').replace(/\.$/, '');
  context.waiting += 1;
  try {
    // If all parts wait, others of the same client use the limit.
    if (context.waiting === context.running || Date.now() - context.progressedMs > LIMIT_WAIT_MS_MAX) throw refusal;
    if (context.limit !== message) context.note(`${message}; the next part waits for another to end`);
    context.limit = message;
    await pause(LIMIT_WAIT_MS, context.signal);
  } finally {
    context.waiting -= 1;
  }
}

/** A proxy in front of the service may refuse it without the service's error code. */
const isTooLarge = ({ error_code: code, status }: TibaError): boolean => code === 'PAYLOAD_TOO_LARGE' || status === 413;

/** The first answers of a small file come at once; later ones as the limit of 120 requests a minute lets them. */
const FIRST_POLL_MS = 200;
const POLL_MS_MAX = 2_000;
const PAGE_MAX = 1_000;

/** Reads the results of a validation as they are recorded, until it has ended. */
async function followValidation(context: Context, part: Part, id: string): Promise<void> {
  const { client, signal, onProgress } = context;
  let received = 0;
  for (let round = 0; ; round += 1) {
    // Before the results: whatever was recorded until the end is among them.
    const progress = await untilAnswered(() => client.accountValidations.get(id, { signal }), context).catch(explain);
    const before = received;
    for (let hasMore = progress.results > received; hasMore; ) {
      const query = { after: received, limit: PAGE_MAX };
      const page = await untilAnswered(() => client.accountValidations.resultsPage(id, query, { signal }), context);
      for (const result of page.results) context.results[part.first + result.row - 1] = result;
      received = page.next_after;
      hasMore = page.has_more;
    }
    if (received > before) context.progressedMs = Date.now();
    onProgress(received - before, progress);
    if (progress.state !== 'RUNNING') return requireAll(context, part, progress);
    await pause(Math.min(POLL_MS_MAX * context.running, FIRST_POLL_MS * 1.5 ** round), signal);
  }
}

/** @throws CommandError when a validation that is complete has left an account without an answer */
function requireAll(
  { results }: Context,
  { first, count }: Part,
  { state, validation_id: id }: AccountValidationProgress,
): void {
  const missing = results.slice(first, first + count).filter((result) => result === null).length;
  if (state !== 'COMPLETED' || missing === 0) return;
  throw new CommandError('error', `the service has ended ${id} without an answer for ${missing} of ${count} accounts`, {
    advice: 'Run the same command again; if that does not help, tell the operator of the service.',
  });
}

function explain(error: unknown): never {
  if (!isTibaError(error) || error.error_code !== 'VALIDATION_NOT_FOUND') throw error;
  throw new CommandError('error', 'the service has deleted the validation of this run, which is older than a week', {
    advice: 'Check everything again with --start-over.',
    cause: error,
  });
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
