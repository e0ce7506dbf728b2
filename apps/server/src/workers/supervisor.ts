import cluster from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { StartError } from '../lib/start-error.ts';
import { within } from '../lib/within.ts';
import type { LogSink } from '../observability/log.ts';
import { killWhenHung } from './hung-worker.ts';
import { createLimitStore } from './limit-store.ts';
import { createMetricsCollection } from './metrics-collection.ts';
import { startWorker, type WorkerDependencies, type WorkerProcess } from './worker-process.ts';

/** Several worker processes behind the same ports, and their parent: this process (docs/decisions/0036). */
export interface Supervisor {
  /** Rejects when workers end as soon as they start. */
  readonly failed: Promise<never>;
  /**
   * Replaces one worker after another: each new one answers requests before the old one stops. Resolves to false when a
   * new worker does not start: the rest of the old ones stay.
   */
  restart(): Promise<boolean>;
  /** Stops all workers. Resolves when they are gone. */
  stop(): Promise<void>;
}

export interface SupervisorOptions {
  readonly count: number;
  /** The URL of the embedded PostgreSQL; null where the settings of the workers name a server. */
  readonly embeddedPostgres: string | null;
  /** How long a worker may take to stop; then it is killed. */
  readonly stopTimeoutMs: number;
  /** A worker that answers requests and then does not answer its parent for this long is killed; 30 s by default. */
  readonly answerTimeoutMs?: number;
  readonly logging: Pick<LogSink, 'log' | 'forward'>;
  /** Resolves when all workers are to stop, also while they start. */
  readonly stopping: Promise<unknown>;
  /** The program of the workers and its arguments: by default those of this process. */
  readonly program?: { readonly file: string; readonly args: readonly string[] };
}

/** A worker that has not answered requests by then is stopped. */
const READY_TIMEOUT_MS = 60_000;
const ANSWER_TIMEOUT_MS = 30_000;
/** A worker that lives for less than this counts as a failed start. */
const STABLE_MS = 10_000;
/** After this number of failed starts in a row, while no worker is stable, something is wrong with all of them. */
const FAILED_STARTS_MAX = 5;
const BACKOFF_FIRST_MS = 1_000;
const BACKOFF_MAX_MS = 30_000;
/** The registry of processes in PostgreSQL counts one that was killed for some seconds more. */
const COUNTED_AFTER_EXIT_MS = 10_000;

interface SupervisorState {
  readonly options: SupervisorOptions;
  readonly parentId: string;
  readonly alive: Set<WorkerProcess>;
  readonly dependencies: Omit<WorkerDependencies, 'start'>;
  readonly onExit: (worker: WorkerProcess) => void;
  readonly failure: PromiseWithResolvers<never>;
  /** Aborted when all workers stop. */
  readonly stopping: AbortController;
  /** Those that live, and those that have just ended. */
  counted: number;
  failedStarts: number;
  /** Restarts run one after the other. */
  restarting: Promise<unknown>;
}

/**
 * Resolves when all workers answer requests.
 * @throws StartError when one of them does not start; its own message is on standard error
 */
export async function startSupervisor(options: SupervisorOptions): Promise<Supervisor> {
  const { count, logging, program } = options;
  const alive = new Set<WorkerProcess>();
  const metrics = createMetricsCollection(() => [...alive]);
  const state: SupervisorState = {
    options,
    parentId: randomUUID(),
    alive,
    dependencies: { limits: createLimitStore(), renderMetrics: metrics.render, logging },
    onExit: metrics.onExit,
    failure: Promise.withResolvers(),
    stopping: new AbortController(),
    counted: 0,
    failedStarts: 0,
    restarting: Promise.resolve(),
  };
  // While it is not awaited, it must not count as an unhandled rejection.
  state.failure.promise.catch(() => {});
  // The parent accepts the connections and gives each to the next worker that is free (docs/decisions/0036).
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({
    ...(program === undefined ? { args: process.argv.slice(2) } : { exec: program.file, args: [...program.args] }),
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  void options.stopping.then(() => stop(state));
  try {
    // The first one alone: what is wrong with all of them is said once.
    await startFirst(state, 1);
    await Promise.all(Array.from({ length: count - 1 }, (_each, index) => startFirst(state, index + 2)));
  } catch (error) {
    await stop(state);
    throw error;
  }
  return {
    failed: state.failure.promise,
    restart() {
      const restarted = state.restarting.then(() => restart(state));
      // One that fails must not keep the next one from running.
      state.restarting = restarted.catch(() => {});
      return restarted;
    },
    stop: () => stop(state),
  };
}

async function startFirst(state: SupervisorState, process: number): Promise<void> {
  const worker = start(state, process);
  if (await isReadyInTime(worker)) return keep(state, worker);
  throw new StartError(`process ${process} did not start`);
}

function start(state: SupervisorState, process: number): WorkerProcess {
  const { options, parentId, alive, dependencies } = state;
  const worker = startWorker({
    ...dependencies,
    start: { process, processes: options.count, parentId, embeddedPostgres: options.embeddedPostgres },
  });
  alive.add(worker);
  changeCounted(state, 1);
  options.logging.log.info({ worker: process, pid: worker.pid }, 'worker process started');
  void worker.exited.then(() => {
    alive.delete(worker);
    keepMetrics(state, worker);
    setTimeout(() => changeCounted(state, -1), COUNTED_AFTER_EXIT_MS).unref();
  });
  return worker;
}

function keepMetrics({ onExit, options }: SupervisorState, worker: WorkerProcess): void {
  try {
    onExit(worker);
  } catch (error) {
    options.logging.log.error(
      { worker: worker.process, pid: worker.pid, err: error },
      'the last metrics of a worker process cannot be read; they are left out',
    );
  }
}

function changeCounted(state: SupervisorState, change: number): void {
  state.counted += change;
  for (const worker of state.alive) worker.send(['processes', state.counted]);
}

const isReadyInTime = (worker: WorkerProcess): Promise<boolean> => within(worker.ready, READY_TIMEOUT_MS, false);

/** Starts another worker when this one ends by itself, or hangs. */
function keep(state: SupervisorState, worker: WorkerProcess): void {
  const { answerTimeoutMs = ANSWER_TIMEOUT_MS, logging } = state.options;
  const isKilled = killWhenHung(worker, answerTimeoutMs, logging.log);
  void worker.exited.then(async (reason) => {
    if (worker.isEnding() || state.stopping.signal.aborted) return;
    logging.log.error(
      { worker: worker.process, pid: worker.pid, reason },
      isKilled()
        ? 'worker process that did not answer was killed; starting another'
        : 'worker process ended by itself; starting another',
    );
    await replace(state, worker);
  });
}

/** Undefined when the system cannot start a process now, for example for lack of memory. */
function tryStart(state: SupervisorState, process: number, next: string): WorkerProcess | undefined {
  try {
    return start(state, process);
  } catch (error) {
    state.options.logging.log.error({ worker: process, err: error }, next);
    return undefined;
  }
}

async function replace(state: SupervisorState, ended: WorkerProcess): Promise<void> {
  const { stopping, options } = state;
  const { log } = options.logging;
  let last: WorkerProcess | undefined = ended;
  while (!stopping.signal.aborted) {
    state.failedStarts = last !== undefined && isStable(last) ? 0 : state.failedStarts + 1;
    if (state.failedStarts >= FAILED_STARTS_MAX && ![...state.alive].some(isStable)) {
      state.failure.reject(new StartError('worker processes end as soon as they start: see the log lines before this'));
      return;
    }
    await wait(backoffMs(state.failedStarts), undefined, { signal: stopping.signal }).catch(() => {});
    // A restart may have replaced it meanwhile.
    if (stopping.signal.aborted || hasReplacement(state, ended.process)) return;
    last = tryStart(state, ended.process, 'the system did not start a worker process; will retry');
    if (last === undefined) continue;
    if (await isReadyInTime(last)) {
      keep(state, last);
      return;
    }
    if (stopping.signal.aborted || last.isEnding()) return;
    log.error({ worker: last.process, pid: last.pid }, 'worker process did not start; will retry');
    await last.end('stop', 0);
  }
}

/** One that is not ready yet may still fail, and a restart then leaves its number to `replace`. */
const hasReplacement = ({ alive }: SupervisorState, process: number): boolean =>
  [...alive].some((worker) => worker.process === process && worker.isReady() && !worker.isEnding());

const isStable = ({ startedMs }: WorkerProcess): boolean => performance.now() - startedMs >= STABLE_MS;

/** The first worker that ends is replaced at once. */
const backoffMs = (failedStarts: number): number =>
  failedStarts <= 1 ? 0 : Math.min(BACKOFF_FIRST_MS * 2 ** (failedStarts - 2), BACKOFF_MAX_MS);

async function restart(state: SupervisorState): Promise<boolean> {
  const { options, stopping } = state;
  const { log } = options.logging;
  for (let process = 1; process <= options.count; process += 1) {
    if (stopping.signal.aborted) return false;
    const next = tryStart(
      state,
      process,
      'restart stopped: the system did not start a process; the others stay; send SIGHUP to try again',
    );
    if (next === undefined) return false;
    if (!(await isReadyInTime(next))) {
      if (!stopping.signal.aborted)
        log.error(
          { worker: process, pid: next.pid },
          'restart stopped: the new process did not start; the others stay; send SIGHUP to try again',
        );
      await next.end('stop', 0);
      return false;
    }
    keep(state, next);
    const old = [...state.alive].filter((worker) => worker.process === process && worker !== next);
    await Promise.all(old.map((worker) => worker.end('retire', options.stopTimeoutMs)));
  }
  return true;
}

async function stop(state: SupervisorState): Promise<void> {
  const { alive, stopping, options } = state;
  stopping.abort();
  await Promise.all([...alive].map((worker) => worker.end('stop', options.stopTimeoutMs)));
  // One that was being started meanwhile.
  await Promise.all([...alive].map((worker) => worker.end('stop', 0)));
}
