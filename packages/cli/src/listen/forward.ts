import { setTimeout as delay } from 'node:timers/promises';
import type { Callback, Event } from '../../../client/src/index.ts';
import { signCallback } from '../../../client/src/testing.ts';

export interface Forwarder {
  readonly url: string;
  readonly secret: string;
  /** Sends an event again until the receiver accepts it. */
  readonly retry: boolean;
  readonly signal: AbortSignal;
  /** Called after each attempt that was not answered with a 2xx. */
  readonly onFailure: (event: Event, reason: string, againInMs: number | null) => void;
}

export interface Forwarded {
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;
  readonly durationMs: number;
}

/** As long as the service waits for a receiver. */
const ATTEMPT_MS_MAX = 15_000;
const RETRY_FIRST_MS = 500;
const RETRY_MS_MAX = 10_000;

/** Sends an event as the service sends its callback: the same body, `webhook-id` and kind of signature. */
export async function forward(event: Event, { url, secret, retry, signal, onFailure }: Forwarder): Promise<Forwarded> {
  for (let attempt = 0; ; attempt += 1) {
    const { status, durationMs, reason } = await sendOnce(event, url, secret, signal);
    const isAccepted = status !== null && status >= 200 && status < 300;
    if (isAccepted) return { status, durationMs };
    const againInMs = retry ? Math.min(RETRY_MS_MAX, RETRY_FIRST_MS * 2 ** attempt) : null;
    onFailure(event, reason, againInMs);
    if (againInMs === null) return { status, durationMs };
    await delay(againInMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

interface Attempt extends Forwarded {
  readonly reason: string;
}

async function sendOnce(event: Event, url: string, secret: string, signal: AbortSignal): Promise<Attempt> {
  const { type, timestamp, version, data } = event;
  const { headers, body } = await signCallback({ type, timestamp, version, data } as Callback, secret, {
    id: event.event_id,
  });
  const startedMs = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedMs);
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS_MAX)]);
    const answer = await fetch(url, { method: 'POST', redirect: 'manual', headers, body, signal: within });
    await answer.arrayBuffer();
    return { status: answer.status, durationMs: durationMs(), reason: `HTTP ${answer.status}` };
  } catch (error) {
    signal.throwIfAborted();
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason = cause instanceof Error ? cause.message || String(cause) : String(cause);
    return { status: null, durationMs: durationMs(), reason };
  }
}
