import { keyOf } from '../domain/identifiers.ts';
import { createBatcher } from '../lib/batcher.ts';
import { repeat } from '../lib/repeat.ts';
import { within } from '../lib/within.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Tracing } from '../observability/tracing/tracing.ts';
import { type ClaimedDelivery, claimDeliveries, findDueEndpoints } from '../postgres/callback-deliveries.ts';
import type { RecordedAttempt } from '../postgres/callback-results.ts';
import type { Database } from '../postgres/database.ts';
import type { DueNotices, EndpointKey } from '../postgres/due-endpoints.ts';
import { createAttempts } from './delivery-attempts.ts';
import { createEndpointQueue, type Draining, type EndpointQueue } from './endpoint-queue.ts';
import { ATTEMPT_TIMEOUT_MS, type SendCallback } from './send.ts';

/**
 * Delivers events to callback endpoints. The outbox is the tables `tiba.callback_outbox_ranges`, until the first claim,
 * and `tiba.callback_outbox`: nothing else holds what is due and when. A notification only says that an endpoint may
 * have deliveries due, and a look at the tables each second finds those without one. So no crash, of this process or of
 * its connection to PostgreSQL, loses a delivery.
 */
export interface CallbackDispatcher {
  /** Claims deliveries of this endpoint, if any are due. */
  wake(endpoint: EndpointKey): void;
  /** Wakes every endpoint that has deliveries due. */
  wakeDueEndpoints(): Promise<void>;
  /**
   * Claims nothing more, gives every receiver that was called its time to answer (15 s), and records the results: what
   * a receiver has accepted is not sent again. Only results that PostgreSQL does not accept within 5 s are dropped; the
   * deliveries are then sent again after their lease. Safe to call twice.
   */
  close(): Promise<void>;
}

export interface DispatcherDependencies {
  readonly database: Database;
  readonly dueNotices: Pick<DueNotices, 'subscribe'>;
  readonly send: SendCallback;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'callbacks' | 'callbackEndpointsDisabled'>;
  /** From 0 to 1. */
  readonly random?: () => number;
  readonly tracing?: Tracing | null;
}

/** Attempts in flight for one endpoint at most: it limits what a receiver that hangs can hold, and its load. */
const SLOTS_PER_ENDPOINT = 32;
/** For the recording of results after the last attempt, when the dispatcher closes. */
const RECORD_TIMEOUT_MS = 5_000;
/** Longer than an attempt and its recording can take; otherwise a delivery would be sent twice at the same time. */
export const LEASE_MS = ATTEMPT_TIMEOUT_MS + RECORD_TIMEOUT_MS;
const POLL_INTERVAL_MS = 1_000;
const RECORD_BATCH_MAX = 256;

export function createDispatcher(dependencies: DispatcherDependencies): CallbackDispatcher {
  const { database, dueNotices, log, random = Math.random } = dependencies;
  const queues = new Map<string, EndpointQueue>();
  const abandoned = new AbortController();
  const attempts = createAttempts({ ...dependencies, random, abandoned: abandoned.signal });
  let closing = false;

  function openQueue(endpoint: EndpointKey, onIdle: () => void): EndpointQueue {
    // One batcher for each endpoint, so that a failure at one endpoint does not delay the results of others.
    const results = createBatcher(attempts.record, RECORD_BATCH_MAX);
    return createEndpointQueue<ClaimedDelivery, RecordedAttempt | null>({
      slots: SLOTS_PER_ENDPOINT,
      claim: (limit) => claimDeliveries(database, endpoint, { limit, leaseMs: LEASE_MS }),
      send: attempts.make,
      record: async (attempt) => {
        if (attempt !== null) await results.add(attempt);
      },
      onClaimFailed: (error) =>
        log.warn({ err: error, ...endpoint }, 'claiming callback deliveries failed; will retry'),
      onIdle,
    });
  }

  function wake({ clientId, endpointId }: EndpointKey): void {
    if (closing) return;
    const key = keyOf(clientId, endpointId);
    // An idle queue is dropped, so that memory holds only active endpoints.
    const queue = queues.get(key) ?? openQueue({ clientId, endpointId }, () => queues.delete(key));
    queues.set(key, queue);
    queue.wake();
  }

  async function wakeDueEndpoints(): Promise<void> {
    for (const endpoint of await findDueEndpoints(database)) wake(endpoint);
  }

  const failures = createFailureLog(log, 'finding endpoints with callbacks due failed; will retry');
  const poll = repeat(POLL_INTERVAL_MS, wakeDueEndpoints, failures);
  dueNotices.subscribe(wake);

  async function shutDown(): Promise<void> {
    closing = true;
    const draining = [...queues.values()].map((queue) => queue.stop());
    await Promise.all([poll.stop(), untilDrained(draining)]);
    abandoned.abort();
  }

  let closed: Promise<void> | undefined;
  return { wake, wakeDueEndpoints, close: () => (closed ??= shutDown()) };
}

/** Every attempt ends by itself, within its timeout. Its recording waits for PostgreSQL, which may be away. */
async function untilDrained(draining: readonly Draining[]): Promise<void> {
  await Promise.all(draining.map(({ sent }) => sent));
  await within(Promise.all(draining.map(({ recorded }) => recorded)), RECORD_TIMEOUT_MS, undefined);
}
