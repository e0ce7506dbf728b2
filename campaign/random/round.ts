import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { VALKEY_MISSING } from '../../test/support/valkey.ts';
import { checkAccounts } from './account-checker.ts';
import { validateInBulk } from './bulk-validator.ts';
import { judgeCallbacks, registerEndpoints } from './callbacks.ts';
import { createCaller } from './caller.ts';
import { logIn, OWNERS } from './clients.ts';
import { createDraws } from './draws.ts';
import { readEvents } from './events-reader.ts';
import { planFaults } from './faults.ts';
import { feedTransactions } from './feeder.ts';
import { fuzz } from './fuzz/fuzzer.ts';
import { injectFaults } from './inject-faults.ts';
import { judgeDatabase, judgeEveryStatus } from './judge-database.ts';
import { probeLimit } from './limit-prober.ts';
import type { RoundContext } from './round-context.ts';
import type { ServiceProcess } from './service.ts';
import { readStatuses } from './status-reader.ts';
import { openSurroundings, type SurroundingsOptions, startProcesses } from './surroundings.ts';
import { watchProcess } from './watch.ts';

export interface RoundOptions extends Omit<SurroundingsOptions, 'hasValkey'> {
  /** Of the load, in seconds. It lasts longer where the planned faults begin later. */
  readonly seconds: number;
  /** Ends the load early. */
  readonly signal: AbortSignal;
}

/** A start computes for some seconds, and a busy machine has a fraction of a processor for it. */
const READY_MS_MAX = 120_000;
const SETTLE_MS_MAX = 120_000;
const TWO_PROCESSES = 0.75;
/** Of the rounds with two processes, where redis-server is installed. */
const WITH_VALKEY = 0.6;
const FEEDERS = 2;
const READERS = 3;
const FUZZERS = 8;
const CHECKERS = 2;

/** One round: a new database, the service, the load and the faults that the seed draws, and a judgment at the end. */
export async function playRound(options: RoundOptions): Promise<void> {
  const { seed, seconds, environment, record, signal } = options;
  const draws = createDraws(seed, 'round');
  await using closers = new AsyncDisposableStack();
  const count = draws.chance(TWO_PROCESSES) ? 2 : 1;
  const hasValkey = count > 1 && draws.chance(WITH_VALKEY) && VALKEY_MISSING === false;
  const surroundings = await openSurroundings({ ...options, hasValkey }, closers);
  const { canaries, known, receiver, disturb, secrets, connection } = surroundings;
  const processes = await startProcesses(surroundings, count, closers);
  const caller = createCaller(processes, createDraws(seed, 'caller'), { record, canaries });
  closers.defer(() => caller.close());
  await untilUp(processes, AbortSignal.timeout(READY_MS_MAX));
  const tokens = await logIn(caller, secrets, canaries);

  const load = new AbortController();
  closers.defer(() => load.abort());
  const settle = new AbortController();
  const context = {
    seed,
    record,
    canaries,
    processes,
    caller,
    tokens,
    known,
    limits: surroundings.limits,
    loadEnds: AbortSignal.any([signal, load.signal]),
    settleEnds: settle.signal,
  };
  const registering = { ...context, settleEnds: AbortSignal.timeout(READY_MS_MAX) };
  const endpoints = await registerEndpoints(registering, receiver);
  const planned = planFaults(createDraws(seed, 'faults'), seconds * 1_000, processes.length);
  const targets = { ...surroundings, postgres: environment.postgres, onDisturbance: disturb };

  const [judgeBulk, ...judgeEvents] = await playLoad(context, receiver.port, async () => {
    const time = delay(seconds * 1_000, undefined, { signal }).catch(() => {});
    // On a busy machine that may take longer.
    const untilFaultsEnd = await injectFaults(context, targets, planned);
    await time;
    load.abort();
    AbortSignal.timeout(SETTLE_MS_MAX).addEventListener('abort', () => settle.abort());
    await untilFaultsEnd();
  });
  await untilUp(processes, settle.signal);
  await Promise.all([judgeBulk(), ...judgeEvents.map((judge) => judge())]);
  await judgeEveryStatus(context);
  await judgeDatabase(context, connection);
  await judgeCallbacks(context, receiver, endpoints, () => makeDeliveriesDue(connection));
}

type Judge = () => Promise<void>;

/** Runs the whole load until it ends; resolves with what judges its results. */
async function playLoad(
  context: RoundContext,
  receiverPort: number,
  faults: () => Promise<void>,
): Promise<[Judge, ...Judge[]]> {
  const repeat = <T>(count: number, start: (number: number) => Promise<T>): Promise<T>[] =>
    Array.from({ length: count }, (_, number) => start(number));
  const together = { admitted: 0, unknown: 0 };
  const judges: Promise<[Judge, ...Judge[]]> = Promise.all([
    validateInBulk(context),
    ...OWNERS.map((owner) => readEvents(context, owner)),
  ]);
  await Promise.all([
    faults(),
    ...repeat(FEEDERS, (number) => feedTransactions(context, number)),
    ...repeat(READERS, (number) => readStatuses(context, number)),
    ...repeat(FUZZERS, (number) => fuzz(context, number, receiverPort)),
    ...repeat(CHECKERS, (number) => checkAccounts(context, number)),
    ...context.processes.flatMap((process) => [probeLimit(context, process, together), watchProcess(context, process)]),
    judges,
  ]);
  return judges;
}

/** Resolves when all listen. */
export async function untilUp(processes: readonly ServiceProcess[], signal: AbortSignal): Promise<void> {
  while (!processes.every((each) => each.isUp())) {
    if (signal.aborted) throw new Error('the service does not come up');
    await delay(20);
  }
}

/** As if the retry delays and the leases of killed processes had passed. */
export async function makeDeliveriesDue(connection: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await client.query(
      "update tiba.callback_outbox set next_attempt_at = now(), claimed_until = null where state = 'pending'",
    );
  } finally {
    await client.end();
  }
}
