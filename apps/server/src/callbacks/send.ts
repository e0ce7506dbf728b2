import type { Seal } from '../auth/secrets.ts';
import { eventId } from '../domain/event.ts';
import { type Span, traceparentOf } from '../observability/tracing/tracing.ts';
import type { GuardedHttp } from '../outbound/guarded-http.ts';
import { OutboundFailure } from '../outbound/outbound-failure.ts';
import type { SealedEndpoint } from '../postgres/callback-endpoints.ts';
import type { EndpointKey } from '../postgres/due-endpoints.ts';
import { readRetryAfter } from './retry-schedule.ts';
import { createKeyCache, sign } from './signature.ts';

/** From name resolution to the end of the response. */
export const ATTEMPT_TIMEOUT_MS = 15_000;

/** The same at every attempt of a delivery. */
export interface CallbackMessage {
  /** The header webhook-id, by which a receiver recognizes duplicates. */
  readonly id: string;
  /** JSON text. */
  readonly body: string;
}

export interface EventFields {
  readonly kind: string;
  /** ISO 8601 UTC. */
  readonly occurredAt: string;
  readonly subjectId: string;
  readonly version: number;
  /** The subject as the API showed it, JSON text. It is sent byte for byte. */
  readonly data: string;
}

/** Concatenates text: parsing `data` and serializing it again could change the last digits of amounts. */
export function createMessage({ kind, occurredAt, subjectId, version, data }: EventFields): CallbackMessage {
  const [type, timestamp] = [JSON.stringify(kind), JSON.stringify(occurredAt)];
  return {
    id: eventId(subjectId, version),
    body: `{"type":${type},"timestamp":${timestamp},"version":${version},"data":${data}}`,
  };
}

export interface AttemptResult {
  readonly startedAt: Date;
  readonly durationMs: number;
  /** null when there was no response; `error` then gives the reason, fit to be shown to the client. */
  readonly httpStatus: number | null;
  /** The first KiB of the response body. */
  readonly answer: string | null;
  readonly error: string | null;
  /** The receiver's Retry-After, from the end of the attempt. */
  readonly retryAfterMs: number | null;
}

/**
 * Makes one attempt. A failed attempt is a result; @throws Error only when the attempt could not be started. The
 * receiver gets the IDs of `span`, the attempt, so that its own trace can go on from there.
 */
export type SendCallback = (
  endpoint: EndpointKey & SealedEndpoint,
  message: CallbackMessage,
  span?: Span,
) => Promise<AttemptResult>;

export interface CallbackSenderDependencies {
  readonly http: Pick<GuardedHttp, 'post'>;
  readonly seal: Seal;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** Only a 2xx is a success. A redirect is not followed: it says that the registered URL is wrong. */
export const succeeded = ({ httpStatus }: AttemptResult): boolean =>
  httpStatus !== null && httpStatus >= 200 && httpStatus < 300;

/** Ends the span of an attempt. */
export function endAttempt(span: Span, result: AttemptResult): void {
  const { httpStatus } = result;
  const attributes = httpStatus === null ? {} : { 'http.response.status_code': httpStatus };
  span.end(attributes, succeeded(result) ? undefined : String(httpStatus ?? 'no_response'));
}

/** Signs as Standard Webhooks specifies, and sends. */
export function createCallbackSender({ http, seal, now = Date.now }: CallbackSenderDependencies): SendCallback {
  const unseal = createKeyCache(seal);

  function keysOf(endpoint: SealedEndpoint, nowMs: number): Buffer[] {
    const { secretSealed, formerSecretSealed, formerSecretUntil } = endpoint;
    const formerSigns =
      formerSecretSealed !== null && formerSecretUntil !== null && formerSecretUntil.getTime() > nowMs;
    return formerSigns ? [unseal(secretSealed), unseal(formerSecretSealed)] : [unseal(secretSealed)];
  }

  return async (endpoint, { id, body }, span) => {
    const startedMs = now();
    const unixSeconds = Math.floor(startedMs / 1000);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Tiba',
      'webhook-id': id,
      'webhook-timestamp': String(unixSeconds),
      'webhook-signature': sign(keysOf(endpoint, startedMs), { id, unixSeconds, body }),
      ...(span === undefined ? {} : { traceparent: traceparentOf(span) }),
    };
    const startedAt = new Date(startedMs);
    const monotonicStartMs = performance.now();
    try {
      const reply = await http.post(endpoint.url, headers, body, { timeoutMs: ATTEMPT_TIMEOUT_MS, owner: endpoint });
      const { status: httpStatus, answer, durationMs } = reply;
      const retryAfterMs = readRetryAfter(reply.retryAfter, now());
      return { startedAt, durationMs, httpStatus, answer, error: null, retryAfterMs };
    } catch (error) {
      if (!(error instanceof OutboundFailure)) throw error;
      const durationMs = Math.round(performance.now() - monotonicStartMs);
      return { startedAt, durationMs, httpStatus: null, answer: null, error: error.message, retryAfterMs: null };
    }
  };
}
