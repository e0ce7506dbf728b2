import { keyOf } from '../domain/identifiers.ts';
import type { ClaimedDelivery } from '../postgres/callback-deliveries.ts';
import type { EndpointHealth, RecordedAttempt } from '../postgres/callback-results.ts';
import { delayAfterMs } from './retry-schedule.ts';
import { type AttemptResult, succeeded } from './send.ts';

/** An endpoint that no delivery has reached for so long is disabled. */
const FAILING_MAX_MS = 5 * 24 * 60 * 60 * 1000;

/** What a receiver says that wants no more callbacks (Standard Webhooks; RFC 9110, section 15.5.11). */
const GONE = 410;

/** What becomes of a delivery after this attempt. `random` is from 0 to 1. */
export function judgeAttempt(delivery: ClaimedDelivery, result: AttemptResult, random: number): RecordedAttempt {
  const endedMs = result.startedAt.getTime() + result.durationMs;
  const delayMs = succeeded(result) ? null : delayAfterMs(delivery.attemptOfSchedule, result.retryAfterMs, random);
  return {
    clientId: delivery.endpoint.clientId,
    endpointId: delivery.endpoint.endpointId,
    sequence: delivery.sequence,
    attempt: delivery.attempt,
    startedAt: result.startedAt.toISOString(),
    durationMs: result.durationMs,
    httpStatus: result.httpStatus,
    answer: result.answer,
    error: result.error,
    state: stateAfter(result, delayMs),
    endedAt: new Date(endedMs).toISOString(),
    nextAttemptAt: delayMs === null ? null : new Date(endedMs + delayMs).toISOString(),
  };
}

function stateAfter(result: AttemptResult, delayMs: number | null): RecordedAttempt['state'] {
  if (succeeded(result)) return 'delivered';
  return delayMs === null ? 'exhausted' : 'pending';
}

/** What attempts, in the order in which they ended, say of their endpoints. */
export function endpointHealthOf(attempts: readonly RecordedAttempt[]): EndpointHealth[] {
  const news = new Map<string, EndpointHealth>();
  for (const attempt of attempts) {
    const { clientId, endpointId, endedAt } = attempt;
    const key = keyOf(clientId, endpointId);
    const before = news.get(key);
    const delivered = attempt.state === 'delivered';
    news.set(key, {
      clientId,
      endpointId,
      succeeded: delivered || before?.succeeded === true,
      failingSince: delivered ? null : (before?.failingSince ?? endedAt),
      failingTooLongSince: new Date(Date.parse(endedAt) - FAILING_MAX_MS).toISOString(),
      gone: attempt.httpStatus === GONE || before?.gone === true,
      heardAt: endedAt,
    });
  }
  return [...news.values()];
}
