import { once } from 'node:events';
import type pg from 'pg';
import { keyOf } from '../domain/identifiers.ts';
import { createBatcher } from '../lib/batcher.ts';
import { repeat } from '../lib/repeat.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type ClaimedDelivery, claimDeliveries, findDueEndpoints } from '../postgres/callback-deliveries.ts';
import { type RecordedAttempt, recordResults } from '../postgres/callback-results.ts';
import type { Database } from '../postgres/database.ts';
import { retryWhileUnavailable } from '../postgres/database.ts';
import type { EndpointKey } from '../postgres/delivery-jobs.ts';
import { DELIVER_TASK, endpointsOfJob } from '../postgres/delivery-jobs.ts';
import { startJobWorker } from '../postgres/job-worker.ts';
import { endpointHealthOf, judgeAttempt } from './attempt-outcome.ts';
import { createEndpointQueue, type EndpointQueue } from './endpoint-queue.ts';
import { createMessage } from './message.ts';
import { ATTEMPT_TIMEOUT_MS, type AttemptResult, type SendCallback } from './send.ts';

/**
 * Carries events to the endpoints that are owed them. What is owed, and when it is due, stands in
 * `tiba.callback_deliveries` and nowhere else: a job says only that it is time to look, and what no job has said is found
 * by looking each second. So nothing that dies, here or between here and PostgreSQL, loses a delivery.
 */
export interface Deliveries {
  /** Something may be due at this endpoint. */
  wake(endpoint: EndpointKey): void;
  /** Wakes every endpoint that has something due. */
  look(): Promise<void>;
  /**
   * Takes up nothing new, and gives what is in flight some seconds to end. What does not is sent again by another. Safe
   * to call twice.
   */
  close(): Promise<void>;
}

export interface DispatcherDependencies {
  readonly connection: pg.ClientConfig;
  readonly database: Database;
  readonly send: SendCallback;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'callbacks' | 'callbackEndpointsDisabled'>;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** From 0 to 1. */
  readonly random?: () => number;
}

/** What one endpoint has in flight at most: it bounds what a receiver that hangs can hold, and what it is sent at once. */
const PLACES = 32;
/** Longer than an attempt can take and be recorded, or it would be sent twice at the same time. */
export const LEASE_MS = ATTEMPT_TIMEOUT_MS + 5_000;
const LOOK_INTERVAL_MS = 1_000;
const RECORD_BATCH_MAX = 256;
const CLOSE_TIMEOUT_MS = 5_000;

export function createDispatcher(dependencies: DispatcherDependencies): Deliveries {
  const { connection, database, send, log, metrics, now = Date.now, random = Math.random } = dependencies;
  const lanes = new Map<string, EndpointQueue>();
  const abandoned = new AbortController();
  const patience = {
    signal: abandoned.signal,
    onUnavailable: (error: unknown) =>
      log.warn({ err: error }, 'results of callbacks could not be recorded yet; it is tried again'),
  };
  let closing = false;

  /** Each endpoint's results for themselves, so that what goes wrong with one holds up no other. */
  async function record(attempts: readonly RecordedAttempt[]): Promise<void> {
    try {
      const write = () => recordResults(database, attempts, endpointHealthOf(attempts));
      for (const { clientId, endpointId, reason } of (await retryWhileUnavailable(write, patience)) ?? []) {
        metrics.callbackEndpointsDisabled.inc({ reason });
        log.warn({ clientId, endpointId, reason }, 'a callback endpoint was disabled');
      }
    } catch (error) {
      log.error({ err: error }, 'results of callbacks could not be recorded; they will be sent again');
    }
  }

  /** Null when there is nothing to record: it is sent again when the claim has run out. */
  async function deliver(delivery: ClaimedDelivery): Promise<RecordedAttempt | null> {
    const result = await attempt(delivery);
    if (abandoned.signal.aborted || result === null) return null;
    const attempted = judgeAttempt(delivery, result, random());
    metrics.callbacks.record(delivery.kind, outcomeOf(attempted), result.durationMs);
    return attempted;
  }

  /** Null for a fault of ours: nothing is held against the receiver. */
  async function attempt({ endpoint, ...event }: ClaimedDelivery): Promise<AttemptResult | null> {
    try {
      return await send(endpoint, createMessage(event));
    } catch (error) {
      const { clientId, endpointId } = endpoint;
      if (!abandoned.signal.aborted) log.error({ err: error, clientId, endpointId }, 'a callback could not be sent');
      return null;
    }
  }

  function openLane(endpoint: EndpointKey, onIdle: () => void): EndpointQueue {
    const results = createBatcher(record, RECORD_BATCH_MAX);
    return createEndpointQueue<ClaimedDelivery, RecordedAttempt | null>({
      places: PLACES,
      claim: (limit) => claimDeliveries(database, endpoint, { limit, now: new Date(now()), leaseMs: LEASE_MS }),
      send: deliver,
      record: async (attempted) => {
        if (attempted !== null) await results.add(attempted);
      },
      onClaimFailed: (error) =>
        log.warn({ err: error, ...endpoint }, 'what is due could not be claimed; it is tried again'),
      onIdle,
    });
  }

  function wake({ clientId, endpointId }: EndpointKey): void {
    if (closing) return;
    const key = keyOf(clientId, endpointId);
    // Lanes that nothing happens in would only fill the memory: one is opened again when it is needed.
    const lane = lanes.get(key) ?? openLane({ clientId, endpointId }, () => lanes.delete(key));
    lanes.set(key, lane);
    lane.wake();
  }

  async function look(): Promise<void> {
    for (const endpoint of await findDueEndpoints(database, new Date(now()))) wake(endpoint);
  }

  const looking = repeat(LOOK_INTERVAL_MS, look, (error) =>
    log.warn({ err: error }, 'what is due could not be looked for; it is tried again'),
  );
  const jobs = startJobWorker({
    connection,
    tasks: { [DELIVER_TASK]: (payload) => endpointsOfJob(payload).forEach(wake) },
    log,
  });

  async function end(): Promise<void> {
    closing = true;
    await Promise.all([looking.stop(), jobs.stop()]);
    const timer = setTimeout(() => abandoned.abort(), CLOSE_TIMEOUT_MS);
    const all = Promise.all([...lanes.values()].map((lane) => lane.stop()));
    await Promise.race([all, once(abandoned.signal, 'abort')]);
    clearTimeout(timer);
    abandoned.abort();
  }

  let ended: Promise<void> | undefined;
  return { wake, look, close: () => (ended ??= end()) };
}

function outcomeOf({ state }: RecordedAttempt): string {
  return state === 'pending' ? 'failed' : state;
}
