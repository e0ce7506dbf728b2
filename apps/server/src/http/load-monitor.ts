import { getHeapStatistics } from 'node:v8';
import type { Log } from '../observability/log.ts';

/** Says when this process should reject requests, so that those it has can be answered. */
export interface LoadMonitor {
  /** Begins to sample, when the listeners are open: until then the process itself keeps the event loop busy. */
  start(): void;
  isOverloaded(): boolean;
  /** How long a request may wait until it begins (admission.ts), in milliseconds. */
  readonly waitMaxMs: number;
  /** A request was rejected because it had waited for longer. */
  noteRejection(): void;
  close(): void;
}

export interface LoadMonitorOptions {
  /** The event loop may be late by this much. 0: not checked, and requests wait as long as it takes. */
  readonly eventLoopDelayMaxMs: number;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

const SAMPLE_INTERVAL_MS = 100;
/**
 * Of the heap that V8 may use (--max-old-space-size). Beyond it, V8 soon does nothing but collect garbage, and then
 * ends the process. The heap of a process that is not short of memory stays far below.
 */
const HEAP_SHARE_MAX = 0.9;
/**
 * What is left of the 3 s of check-status when its connection to PostgreSQL and its query take the longest
 * (docs/decisions/0025).
 */
const WAIT_MAX_MS = 250;
/** One warning for an overload that comes and goes. */
const CALM_MS = 10_000;

const OVERLOADED = 'overloaded; rejecting requests with 503 until the event loop and the heap recover';
const TOO_MANY = 'overloaded; rejecting requests with 503 that waited too long to begin';

/** Samples the event loop and the heap ten times a second; asking costs a request one comparison. */
export function createLoadMonitor({ eventLoopDelayMaxMs, log }: LoadMonitorOptions): LoadMonitor {
  let overloaded = false;
  let lastOverloadedMs = Number.NEGATIVE_INFINITY;
  let dueMs = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  function sample(): void {
    const nowMs = performance.now();
    const delayMs = nowMs - dueMs;
    dueMs = nowMs + SAMPLE_INTERVAL_MS;
    const { used_heap_size: usedBytes, heap_size_limit: limitBytes } = getHeapStatistics();
    const heapShare = usedBytes / limitBytes;
    overloaded = (eventLoopDelayMaxMs > 0 && delayMs > eventLoopDelayMaxMs) || heapShare > HEAP_SHARE_MAX;
    if (!overloaded) return;
    const heap = Math.round(heapShare * 100) / 100;
    warn(nowMs, { eventLoopDelayMs: Math.round(delayMs), heapShare: heap }, OVERLOADED);
  }

  function warn(nowMs: number, fields: Readonly<Record<string, number>>, message: string): void {
    if (nowMs - lastOverloadedMs > CALM_MS) log.warn(fields, message);
    lastOverloadedMs = nowMs;
  }

  return {
    start() {
      dueMs = performance.now() + SAMPLE_INTERVAL_MS;
      timer = setInterval(sample, SAMPLE_INTERVAL_MS).unref();
    },
    isOverloaded: () => overloaded,
    waitMaxMs: eventLoopDelayMaxMs > 0 ? WAIT_MAX_MS : Number.POSITIVE_INFINITY,
    noteRejection: () => warn(performance.now(), { waitMaxMs: WAIT_MAX_MS }, TOO_MANY),
    close: () => clearInterval(timer),
  };
}
