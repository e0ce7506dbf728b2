import cluster, { type Worker } from 'node:cluster';
import { within } from '../lib/within.ts';
import type { LogSink } from '../observability/log.ts';
import type { MetricSnapshot } from '../observability/metric-snapshot.ts';
import type { LeaseHolder } from './lease-recalls.ts';
import type { LimitStore } from './limit-store.ts';
import { forwardLines } from './log-lines.ts';
import type { EndOrder, ToParent, ToWorker, WorkerStart } from './messages.ts';
import { closeUntakenConnections } from './untaken-connections.ts';

/** A worker, as its parent sees it. */
export interface WorkerProcess {
  /** Its number, from 1 on. */
  readonly process: number;
  readonly pid: number;
  readonly startedMs: number;
  /** Resolves to true when it answers requests, to false when it has ended before. */
  readonly ready: Promise<boolean>;
  isReady(): boolean;
  /** Resolves when the process is gone and its log is read: with its exit code, or the signal that ended it. */
  readonly exited: Promise<number | string>;
  /** Whether its end was ordered. */
  isEnding(): boolean;
  /** Orders it to end; kills it when it has not ended in time. Resolves when it is gone. */
  end(order: EndOrder, timeoutMs: number): Promise<void>;
  send(message: ToWorker): void;
  /** The metrics that it sends now, or those that it sent last, with its latest counts. */
  metrics(timeoutMs: number): Promise<readonly MetricSnapshot[]>;
  lastMetrics(): readonly MetricSnapshot[];
  /** Asks whether it still runs. Returns how many questions before this one, in a row, it has not answered. */
  ping(): number;
  /** Ends it at once, as if it had ended by itself. */
  kill(): void;
}

export interface WorkerDependencies {
  readonly start: WorkerStart;
  readonly limits: LimitStore;
  readonly renderMetrics: () => Promise<string>;
  readonly logging: Pick<LogSink, 'log' | 'forward'>;
}

interface WorkerState {
  readonly worker: Worker;
  readonly dependencies: WorkerDependencies;
  readonly ready: PromiseWithResolvers<boolean>;
  readonly questions: Map<number, () => void>;
  readonly leaseHolder: LeaseHolder;
  /** Messages to it, until it listens: Node would lose them. Null from then on. */
  waiting: ToWorker[] | null;
  isReady: boolean;
  isEnding: boolean;
  lastQuestion: number;
  lastMetrics: readonly MetricSnapshot[];
  unansweredPings: number;
}

/** After its end, a process that holds the worker's standard output must not keep the parent. */
const LOG_TIMEOUT_MS = 2_000;

export function startWorker(dependencies: WorkerDependencies): WorkerProcess {
  const worker = cluster.fork();
  closeUntakenConnections(worker.process);
  const state: WorkerState = {
    worker,
    dependencies,
    ready: Promise.withResolvers(),
    questions: new Map(),
    leaseHolder: { recall: (key) => send(state, ['recall', key]) },
    waiting: [],
    isReady: false,
    isEnding: false,
    lastQuestion: 0,
    lastMetrics: [],
    unansweredPings: 0,
  };
  worker.process.on('message', (message) => void receiveSafely(state, message as ToParent));
  // A message to a process that has just ended fails.
  worker.on('error', () => {});
  const logRead = forwardLines(worker.process.stdout, dependencies.logging.forward);
  const exited = untilGone(state, logRead);
  send(state, ['start', dependencies.start]);
  return {
    process: dependencies.start.process,
    pid: worker.process.pid ?? 0,
    startedMs: performance.now(),
    ready: state.ready.promise,
    isReady: () => state.isReady,
    exited,
    isEnding: () => state.isEnding,
    async end(order, timeoutMs) {
      state.isEnding = true;
      send(state, ['end', order]);
      const killing = setTimeout(() => worker.process.kill('SIGKILL'), timeoutMs);
      await exited;
      clearTimeout(killing);
    },
    send: (message) => send(state, message),
    async metrics(timeoutMs) {
      await askForMetrics(state, timeoutMs);
      return state.lastMetrics;
    },
    lastMetrics: () => state.lastMetrics,
    ping() {
      send(state, ['ping']);
      state.unansweredPings += 1;
      return state.unansweredPings - 1;
    },
    kill: () => void worker.process.kill('SIGKILL'),
  };
}

async function untilGone(state: WorkerState, logRead: Promise<void>): Promise<number | string> {
  const reason = await untilExit(state.worker);
  state.isReady = false;
  state.ready.resolve(false);
  state.dependencies.limits.leases.onExit(state.leaseHolder);
  for (const settle of state.questions.values()) settle();
  await within(logRead, LOG_TIMEOUT_MS, undefined);
  return reason;
}

const untilExit = ({ process }: Worker): Promise<number | string> =>
  new Promise((resolve) => {
    process.once('exit', (code, signal) => resolve(signal ?? code ?? 0));
    process.once('error', (error) => {
      if (process.pid === undefined) resolve(error.message);
    });
  });

const ignore = (): void => {};

function send({ worker, waiting }: WorkerState, message: ToWorker): void {
  if (waiting !== null) waiting.push(message);
  else if (worker.isConnected()) worker.process.send(message, undefined, undefined, ignore);
}

/** One message that cannot be answered must not end the parent. */
async function receiveSafely(state: WorkerState, message: ToParent): Promise<void> {
  try {
    await receive(state, message);
  } catch (error) {
    const [question, number] = message;
    const { logging, start } = state.dependencies;
    logging.log.error(
      { worker: start.process, question, err: error },
      'a question of a worker process was not answered; it goes on without the answer',
    );
    if (question === 'run' || question === 'all-metrics') send(state, ['failed', number]);
  }
}

async function receive(state: WorkerState, message: ToParent): Promise<void> {
  const { limits, renderMetrics } = state.dependencies;
  switch (message[0]) {
    case 'connected': {
      const { waiting } = state;
      state.waiting = null;
      for (const each of waiting ?? []) send(state, each);
      break;
    }
    case 'run': {
      const reply = limits.run(message[2], message[3], message[4]);
      send(state, ['ran', message[1], reply instanceof Promise ? await reply : reply]);
      break;
    }
    case 'lease': {
      const grant = limits.leases.exchange(state.leaseHolder, message[1]);
      if (grant !== null) send(state, ['leased', grant]);
      break;
    }
    case 'ready':
      state.isReady = true;
      state.ready.resolve(true);
      break;
    case 'all-metrics':
      send(state, ['all-metrics', message[1], await renderMetrics()]);
      break;
    case 'metrics':
      state.lastMetrics = message[2];
      state.questions.get(message[1])?.();
      break;
    case 'counts':
      state.lastMetrics = replaced(state.lastMetrics, message[1]);
      break;
    case 'pong':
      state.unansweredPings = 0;
      break;
    case 'last-metrics':
      state.lastMetrics = message[1];
      break;
  }
}

function replaced(metrics: readonly MetricSnapshot[], counts: readonly MetricSnapshot[]): readonly MetricSnapshot[] {
  const names = new Set(counts.map(({ name }) => name));
  return [...counts, ...metrics.filter(({ name }) => !names.has(name))];
}

/** Resolves when the worker has answered, has ended, or has not answered in time. */
async function askForMetrics(state: WorkerState, timeoutMs: number): Promise<void> {
  state.lastQuestion += 1;
  const question = state.lastQuestion;
  const settled = Promise.withResolvers<void>();
  state.questions.set(question, settled.resolve);
  send(state, ['metrics', question]);
  await within(settled.promise, timeoutMs, undefined);
  state.questions.delete(question);
}
