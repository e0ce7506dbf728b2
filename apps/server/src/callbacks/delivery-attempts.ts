import { keyOf } from '../domain/identifiers.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Span, type Tracing, traceFields } from '../observability/tracing/tracing.ts';
import type { ClaimedDelivery } from '../postgres/callback-deliveries.ts';
import {
  type EndpointHealth,
  RECEIVER_REASONS,
  type RecordedAttempt,
  recordResults,
} from '../postgres/callback-results.ts';
import { type Database, retryWhileUnavailable } from '../postgres/database.ts';
import { delayAfterMs } from './retry-schedule.ts';
import { type AttemptResult, createMessage, endAttempt, type SendCallback, succeeded } from './send.ts';

/** The status of a receiver that wants no more callbacks (Standard Webhooks; RFC 9110, section 15.5.11). */
const GONE = 410;

export interface AttemptsDependencies {
  readonly database: Database;
  readonly send: SendCallback;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'callbacks' | 'callbackEndpointsDisabled'>;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Aborted when the dispatcher no longer waits for attempts: their results are then dropped. */
  readonly abandoned: AbortSignal;
  readonly tracing?: Tracing | null;
}

export interface Attempts {
  /** Makes one attempt. Null when there is nothing to record: the delivery is sent again after its lease. */
  make(delivery: ClaimedDelivery): Promise<RecordedAttempt | null>;
  /** Records results of one endpoint, and disables the endpoint when they say so. Never rejects. */
  record(attempts: readonly RecordedAttempt[]): Promise<void>;
}

export function createAttempts(dependencies: AttemptsDependencies): Attempts {
  const { database, send, log, metrics, random, abandoned, tracing = null } = dependencies;
  const retrying = {
    signal: abandoned,
    report: createFailureLog(log, 'recording callback results failed; will retry'),
  };
  // From 0 on: Prometheus sees no increase in a series that begins with 1, so an alert would miss the first one.
  for (const reason of RECEIVER_REASONS) metrics.callbackEndpointsDisabled.inc({ reason }, 0);

  return {
    async make({ endpoint, ...event }) {
      let result: AttemptResult;
      const span = tracing === null ? undefined : beginAttempt(tracing, { endpoint, ...event });
      try {
        result = await send(endpoint, createMessage(event), span);
      } catch (error) {
        // The fault is in this process, so it does not count against the receiver.
        const { clientId, endpointId } = endpoint;
        const message = 'sending a callback failed in this process; will retry after the lease';
        if (!abandoned.aborted) log.error({ err: error, clientId, endpointId, ...traceFields(span) }, message);
        span?.end({}, 'internal_error');
        return null;
      }
      if (span !== undefined) endAttempt(span, result);
      if (abandoned.aborted) return null;
      const attempt = evaluateAttempt({ endpoint, ...event }, result, random());
      metrics.callbacks.record(event.kind, outcomeOf(attempt), result.durationMs, span);
      return attempt;
    },
    async record(attempts) {
      try {
        const write = () => recordResults(database, attempts, endpointHealthOf(attempts));
        for (const { clientId, endpointId, reason } of (await retryWhileUnavailable(write, retrying)) ?? []) {
          metrics.callbackEndpointsDisabled.inc({ reason });
          log.warn({ clientId, endpointId, reason }, 'callback endpoint disabled');
        }
      } catch (error) {
        log.error({ err: error }, 'recording callback results failed; the callbacks will be sent again');
      }
    },
  };
}

/** Within what has changed the subject, while this process remembers it; otherwise a trace of its own. */
function beginAttempt(tracing: Tracing, delivery: ClaimedDelivery): Span | undefined {
  const { endpoint, subjectId, version, kind, attempt } = delivery;
  const attributes = {
    'tiba.client_id': endpoint.clientId,
    'tiba.endpoint_id': endpoint.endpointId,
    'tiba.subject_id': subjectId,
    'tiba.version': version,
    'tiba.event': kind,
    'tiba.attempt': attempt,
  };
  const cause = tracing.causes.find(endpoint.clientId, subjectId);
  return cause === undefined
    ? tracing.begin('callback', 'producer', attributes)
    : tracing.beginWithin(cause, 'callback', 'producer', attributes);
}

/** The state of a delivery after this attempt. `random` is from 0 to 1. */
function evaluateAttempt(delivery: ClaimedDelivery, result: AttemptResult, random: number): RecordedAttempt {
  const delayMs = succeeded(result) ? null : delayAfterMs(delivery.attemptOfSchedule, result.retryAfterMs, random);
  return {
    clientId: delivery.endpoint.clientId,
    endpointId: delivery.endpoint.endpointId,
    url: delivery.endpoint.url,
    sequence: delivery.sequence,
    attempt: delivery.attempt,
    endedMs: performance.now(),
    durationMs: result.durationMs,
    httpStatus: result.httpStatus,
    answer: result.answer,
    error: result.error,
    state: stateAfter(result, delayMs),
    delayMs,
  };
}

function stateAfter(result: AttemptResult, delayMs: number | null): RecordedAttempt['state'] {
  if (succeeded(result)) return 'delivered';
  return delayMs === null ? 'exhausted' : 'pending';
}

/** The label `outcome` of the metric. */
function outcomeOf({ state }: RecordedAttempt): string {
  return state === 'pending' ? 'failed' : state;
}

/** Summarizes attempts, in the order in which they ended, for each endpoint and each URL that it had. */
function endpointHealthOf(attempts: readonly RecordedAttempt[]): EndpointHealth[] {
  const healthByUrl = new Map<string, EndpointHealth>();
  for (const attempt of attempts) {
    const { clientId, endpointId, url, endedMs } = attempt;
    const key = keyOf(clientId, keyOf(endpointId, url));
    const before = healthByUrl.get(key);
    const delivered = attempt.state === 'delivered';
    healthByUrl.set(key, {
      clientId,
      endpointId,
      url,
      succeeded: delivered || before?.succeeded === true,
      firstFailureMs: delivered ? null : (before?.firstFailureMs ?? endedMs),
      gone: attempt.httpStatus === GONE || before?.gone === true,
      lastEndedMs: endedMs,
    });
  }
  return [...healthByUrl.values()];
}
