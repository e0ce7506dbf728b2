import type { Seal } from '../auth/secrets.ts';
import type { GuardedHttp } from '../outbound/guarded-http.ts';
import { OutboundFailure } from '../outbound/outbound-failure.ts';
import type { SealedEndpoint } from '../postgres/callback-endpoints.ts';
import type { CallbackMessage } from './message.ts';
import { readRetryAfter } from './retry-after.ts';
import { createSecretKeys } from './secret-keys.ts';
import { sign } from './sign.ts';

/** For everything, from the look-up of the name to the end of the answer. */
export const ATTEMPT_TIMEOUT_MS = 15_000;

export interface AttemptResult {
  readonly startedAt: Date;
  readonly durationMs: number;
  /** null when there was no answer; then `error` says why, fit to be shown to the client. */
  readonly httpStatus: number | null;
  /** The first KiB of what the receiver answered. */
  readonly answer: string | null;
  readonly error: string | null;
  /** How long the receiver asked to be left alone, from the end of the attempt. */
  readonly retryAfterMs: number | null;
}

/** One attempt. What goes wrong on the way is a result; @throws Error only when it could not even be begun. */
export type SendCallback = (endpoint: SealedEndpoint, message: CallbackMessage) => Promise<AttemptResult>;

export interface CallbackSenderDependencies {
  readonly http: Pick<GuardedHttp, 'post'>;
  readonly seal: Seal;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** Only a 2xx is a success: a redirect is not followed, and says that the address is wrong. */
export const succeeded = ({ httpStatus }: AttemptResult): boolean =>
  httpStatus !== null && httpStatus >= 200 && httpStatus < 300;

/** Signs as Standard Webhooks has it, and sends. */
export function createCallbackSender({ http, seal, now = Date.now }: CallbackSenderDependencies): SendCallback {
  const keyOf = createSecretKeys(seal);

  function keysOf(endpoint: SealedEndpoint, nowMs: number): Buffer[] {
    const { secretSealed, formerSecretSealed, formerSecretUntil } = endpoint;
    const former = formerSecretSealed !== null && formerSecretUntil !== null && formerSecretUntil.getTime() > nowMs;
    return former ? [keyOf(secretSealed), keyOf(formerSecretSealed)] : [keyOf(secretSealed)];
  }

  return async (endpoint, { id, body }) => {
    const startedMs = now();
    const unixSeconds = Math.floor(startedMs / 1000);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Tiba',
      'webhook-id': id,
      'webhook-timestamp': String(unixSeconds),
      'webhook-signature': sign(keysOf(endpoint, startedMs), { id, unixSeconds, body }),
    };
    const startedAt = new Date(startedMs);
    const begunMs = performance.now();
    try {
      const reply = await http.post(endpoint.url, headers, body, { timeoutMs: ATTEMPT_TIMEOUT_MS });
      const { status: httpStatus, answer, durationMs } = reply;
      const retryAfterMs = readRetryAfter(reply.retryAfter, now());
      return { startedAt, durationMs, httpStatus, answer, error: null, retryAfterMs };
    } catch (error) {
      if (!(error instanceof OutboundFailure)) throw error;
      const durationMs = Math.round(performance.now() - begunMs);
      return { startedAt, durationMs, httpStatus: null, answer: null, error: error.message, retryAfterMs: null };
    }
  };
}
