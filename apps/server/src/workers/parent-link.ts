import cluster from 'node:cluster';
import type { MetricSnapshot } from '../observability/metric-snapshot.ts';
import { type ConnectionEvents, UnknownScript, type ValkeyConnection } from '../valkey/place.ts';
import { createLeases, type WorkerLeases } from './leases.ts';
import { operationOf } from './limit-store.ts';
import type { EndOrder, ToParent, ToWorker, WorkerStart } from './messages.ts';

/** A worker's connection to its parent. */
export interface ParentLink extends WorkerStart {
  /** The place where all workers of this machine count, in the form of a connection to Valkey. */
  openLimits(events: ConnectionEvents): ValkeyConnection;
  /** How many processes of this machine live, or lived a moment ago. */
  liveProcesses(): number;
  /** The metrics of all workers in the Prometheus text format. Rejects when the parent does not answer in time. */
  renderMetrics(): Promise<string>;
  /** `snapshot` returns the metrics of this worker, when the parent asks for them. */
  onMetricsRequest(snapshot: () => Promise<MetricSnapshot[]>): void;
  /** What this worker has counted so far. Resolves when it is sent. */
  handOverCounts(counts: readonly MetricSnapshot[]): Promise<void>;
  /** The last metrics of this worker, which ends. */
  leaveMetrics(snapshot: readonly MetricSnapshot[]): Promise<void>;
  /** Tells the parent that this worker answers requests. */
  ready(): void;
  /** Resolves when this worker has to end: the parent says so, or is gone. */
  readonly ended: Promise<EndOrder>;
  close(): void;
}

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface LinkState {
  readonly pending: Map<number, Pending>;
  lastQuestion: number;
  liveProcesses: number;
  snapshot: () => Promise<MetricSnapshot[]>;
  readonly start: PromiseWithResolvers<WorkerStart>;
  readonly end: PromiseWithResolvers<EndOrder>;
  readonly leases: WorkerLeases;
}

const METRICS_TIMEOUT_MS = 3_000;

/** Resolves when the parent has said what this worker begins with. */
export async function connectToParent(): Promise<ParentLink> {
  const state: LinkState = {
    pending: new Map(),
    lastQuestion: 0,
    liveProcesses: 1,
    snapshot: async () => [],
    start: Promise.withResolvers(),
    end: Promise.withResolvers(),
    leases: createLeases((exchange) => send(['lease', exchange])),
  };
  // Node would end this process at once when the parent is gone, with its requests in flight.
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
  process.on('message', (message) => receive(state, message as ToWorker));
  process.once('disconnect', () => loseParent(state));
  send(['connected']);
  const start = await state.start.promise;
  return {
    ...start,
    openLimits: (events) => openLimits(state, events),
    liveProcesses: () => state.liveProcesses,
    renderMetrics: async () => String(await withinTime(ask(state, (question) => ['all-metrics', question]))),
    onMetricsRequest: (snapshot) => void (state.snapshot = snapshot),
    handOverCounts: (counts) => new Promise((resolve) => send(['counts', counts], resolve)),
    leaveMetrics: (snapshot) => new Promise((resolve) => send(['last-metrics', snapshot], resolve)),
    ready: () => send(['ready']),
    ended: state.end.promise,
    close() {
      if (process.connected) cluster.worker?.disconnect();
    },
  };
}

function receive(state: LinkState, message: ToWorker): void {
  switch (message[0]) {
    case 'ran':
    case 'all-metrics':
      state.pending.get(message[1])?.resolve(message[2]);
      state.pending.delete(message[1]);
      break;
    case 'leased':
      state.leases.receive(message[1]);
      break;
    case 'recall':
      state.leases.recall(message[1]);
      break;
    case 'failed':
      state.pending.get(message[1])?.reject(new Error('the parent process could not answer: see its log'));
      state.pending.delete(message[1]);
      break;
    case 'metrics':
      void answerMetrics(state, message[1]);
      break;
    case 'ping':
      send(['pong']);
      break;
    case 'processes':
      state.liveProcesses = message[1];
      break;
    case 'end':
      state.end.resolve(message[1]);
      break;
    case 'start':
      state.liveProcesses = message[1].processes;
      state.start.resolve(message[1]);
      break;
  }
}

async function answerMetrics({ snapshot }: LinkState, question: number): Promise<void> {
  // Without an answer the parent goes on with what it had before.
  const metrics = await snapshot().catch(() => null);
  if (metrics !== null) send(['metrics', question, metrics]);
}

function loseParent(state: LinkState): void {
  state.start.reject(new Error('the parent process is gone'));
  state.end.resolve('stop');
  for (const { reject } of state.pending.values()) reject(new Error('the parent process is gone'));
  state.pending.clear();
}

const ignore = (): void => {};

/** `onSent` is called when it is sent, and when it cannot be. */
function send(message: ToParent, onSent: () => void = ignore): void {
  if (process.connected) process.send?.(message, undefined, undefined, onSent);
  else onSent();
}

function ask(state: LinkState, question: (number: number) => ToParent): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (!process.connected) {
      reject(new Error('the parent process is gone'));
      return;
    }
    state.lastQuestion += 1;
    state.pending.set(state.lastQuestion, { resolve, reject });
    send(question(state.lastQuestion));
  });
}

function withinTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the parent process does not answer')), METRICS_TIMEOUT_MS);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** The channel to the parent keeps the order of messages, and is there for as long as the parent. */
function openLimits(state: LinkState, { onReady, onLost }: ConnectionEvents): ValkeyConnection {
  const run: ValkeyConnection['run'] = async ({ lua }, keys, args) => {
    const operation = operationOf(lua);
    if (operation === undefined) throw new UnknownScript('the parent process does not know this script');
    return ask(state, (question) => ['run', question, operation, keys, args]);
  };
  setImmediate(onReady);
  process.once('disconnect', onLost);
  return { run, runInOrder: run, leases: state.leases, reconnect() {}, close: state.leases.close };
}
