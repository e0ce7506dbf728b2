import type { FastifyRequest } from 'fastify';
import type { Caller } from '../auth/authenticator.ts';
import type { AccessLog } from '../observability/access-log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { REFUSALS } from '../observability/refusals.ts';
import type { ErrorCode } from './errors.ts';

/** Where the answers of a listener are counted and logged. */
interface AnswerRecords {
  /** Of the listener. */
  readonly name: string;
  readonly metrics: Metrics;
  readonly accessLog: AccessLog;
}

export interface RecordedAnswer {
  readonly requestId: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly startedMs: number;
  readonly caller: Caller | null;
  readonly errorCode?: ErrorCode | null;
  readonly fields?: FastifyRequest['logFields'];
  readonly span?: FastifyRequest['span'];
}

/** Counts and logs an answer. */
export function recordAnswer({ name, metrics, accessLog }: AnswerRecords, answer: RecordedAnswer): void {
  const { requestId, method, route, status, startedMs, caller, errorCode = null, fields = null, span } = answer;
  const durationMs = performance.now() - startedMs;
  metrics.requests.record(route, status, durationMs, span);
  if (errorCode !== null) countRefusal(metrics, errorCode, caller);
  const clientId = caller?.client.clientId;
  accessLog({ listener: name, requestId, method, route, status, durationMs, clientId, errorCode, fields });
}

/** What an operator raises a limit for, grants a scope for, or looks for an outage behind. */
function countRefusal(metrics: Metrics, errorCode: ErrorCode, caller: Caller | null): void {
  if (caller === null || !REFUSALS.has(errorCode)) return;
  // The subject of a person is often an e-mail address, which has no place in a metric.
  const clientId = caller.person === undefined ? caller.client.clientId : 'person';
  metrics.requestsRefused.inc({ client_id: clientId, error_code: errorCode });
}
