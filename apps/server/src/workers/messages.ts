import type { MetricSnapshot } from '../observability/metric-snapshot.ts';
import type { LeaseExchange, LeaseGrant } from './leases.ts';
import type { Arguments, LimitOperation } from './limit-store.ts';

/** What a worker begins with. */
export interface WorkerStart {
  /** From 1 on. A worker that replaces another one has its number. */
  readonly process: number;
  /** How many workers there are. */
  readonly processes: number;
  /** Made when the parent starts: the counts of all workers together begin then. */
  readonly parentId: string;
  /** The URL of the embedded PostgreSQL, which the parent has started; null where the settings name a server. */
  readonly embeddedPostgres: string | null;
}

/** How a worker ends: `retire` hands its clients over to the others, without being seen as not ready. */
export type EndOrder = 'stop' | 'retire';

/**
 * Messages of a worker to its parent. Arrays, because they are sent in every turn of the event loop: their JSON is
 * short. `run` and `all-metrics` are answered, or `failed`; the number connects the answer with the question.
 */
export type ToParent =
  /** It listens from now on. */
  | readonly ['connected']
  | readonly ['ready']
  | readonly ['run', number, LimitOperation, readonly string[], Arguments]
  /** Answered with `leased` if the worker asks for more. */
  | readonly ['lease', LeaseExchange]
  | readonly ['all-metrics', number]
  | readonly ['metrics', number, readonly MetricSnapshot[]]
  /** What the worker has counted so far: the metrics that only grow. */
  | readonly ['counts', readonly MetricSnapshot[]]
  /** The answer to `ping`. */
  | readonly ['pong']
  /** The worker ends: these are its last. */
  | readonly ['last-metrics', readonly MetricSnapshot[]];

export type ToWorker =
  | readonly ['start', WorkerStart]
  | readonly ['ran', number, unknown]
  | readonly ['leased', LeaseGrant]
  /** The worker gives back what it may still admit of the window with this key. */
  | readonly ['recall', string]
  | readonly ['all-metrics', number, string]
  /** The parent could not answer, and has logged why. */
  | readonly ['failed', number]
  | readonly ['metrics', number]
  /** A worker that hangs does not answer. */
  | readonly ['ping']
  /** How many processes of this machine live, or lived a moment ago. */
  | readonly ['processes', number]
  | readonly ['end', EndOrder];
