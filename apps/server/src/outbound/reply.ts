import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import type { Dispatcher } from 'undici';
import type { Turn } from './origin-pools.ts';
import { codeOf, exchangeFailure, OutboundFailure } from './outbound-failure.ts';

export interface OutboundReply {
  readonly status: number;
  /** The header as it came (RFC 9110, 10.2.3: seconds or a date); null when there is none, or none that can be one. */
  readonly retryAfter: string | null;
  /** The beginning of the body, at most 1 KiB, fit to be shown and stored. */
  readonly answer: string;
  readonly durationMs: number;
}

/** Read to keep the connection; a longer body costs its sender the connection. */
const BODY_BYTES_MAX = 64 * 1024;
const ANSWER_BYTES_MAX = 1024;
const RETRY_AFTER_LENGTH_MAX = 64;

export interface Receiving {
  readonly host: string;
  readonly timeoutMs: number;
  /** Ended when undici is done with the request, which can be long after the deadline: while a connection is made. */
  readonly turn: Turn;
  resolve(reply: OutboundReply): void;
  /** With an OutboundFailure, or, when the request itself was wrong or the service is closing, with any other error. */
  reject(error: Error): void;
}

/**
 * Takes one reply in, from the moment of its making until the deadline at the latest. undici's `request` would make a
 * stream of the body, which costs more. Nothing is unpacked.
 */
export function receiveReply({ host, timeoutMs, turn, resolve, reject }: Receiving): Dispatcher.DispatchHandler {
  const startedMs = performance.now();
  const timer = setTimeout(expire, timeoutMs);
  const kept: Buffer[] = [];
  let bytes = 0;
  let status = 0;
  let retryAfter: string | null = null;
  let settled = false;
  let running: Dispatcher.DispatchController | undefined;

  function settle(): boolean {
    if (settled) return false;
    settled = true;
    clearTimeout(timer);
    return true;
  }

  function expire(): void {
    const missed = running === undefined ? 'No connection to' : 'No complete reply of';
    const failure = new OutboundFailure('timeout', `${missed} ${host} within ${timeoutMs} ms`);
    if (settle()) reject(failure);
    turn.giveUp();
    running?.abort(failure);
  }

  function finish(): void {
    if (!settle()) return;
    resolve({
      status,
      retryAfter,
      answer: answerOf(kept, bytes),
      durationMs: Math.round(performance.now() - startedMs),
    });
  }

  return {
    onRequestStart(controller) {
      // Thrown, not aborted: nothing was sent yet, and the connection is good for the next in the queue.
      if (settled) throw new Error('the deadline passed before there was a connection');
      running = controller;
    },
    onResponseStart(_controller, statusCode, headers) {
      if (statusCode < 200) return;
      status = statusCode;
      retryAfter = retryAfterOf(headers);
    },
    onResponseData(controller, chunk) {
      // Copied: a part of a chunk would keep the whole of it in memory.
      if (bytes < ANSWER_BYTES_MAX) kept.push(Buffer.from(chunk.subarray(0, ANSWER_BYTES_MAX - bytes)));
      bytes += chunk.length;
      if (bytes <= BODY_BYTES_MAX) return;
      finish();
      controller.abort(new Error(`more than ${BODY_BYTES_MAX} bytes`));
    },
    onResponseEnd() {
      finish();
      turn.end();
    },
    onResponseError(_controller, error) {
      if (settle()) reject(failureOf(host, status !== 0, error));
      turn.end();
    },
  };
}

/** A connection's failure says itself what it is; a mistake of the caller is no failure of the receiver. */
function failureOf(host: string, answered: boolean, error: Error): Error {
  const ours = ['UND_ERR_INVALID_ARG', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED'];
  if (error instanceof OutboundFailure || ours.includes(codeOf(error))) return error;
  return exchangeFailure(host, answered, error);
}

function retryAfterOf(headers: IncomingHttpHeaders): string | null {
  const value: unknown = headers['retry-after'];
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === 'string' && first.length <= RETRY_AFTER_LENGTH_MAX ? first : null;
}

/**
 * Decodes leniently: what cannot be read becomes U+FFFD. So do control characters, which a terminal would obey and
 * PostgreSQL refuses (U+0000), and those that turn the direction of writing, which make a page show what is not there.
 */
function answerOf(kept: readonly Buffer[], bytes: number): string {
  const decoder = new StringDecoder('utf8');
  const text = decoder.write(Buffer.concat(kept));
  // A character cut in two by the limit was not sent broken, and is left out.
  const whole = bytes > ANSWER_BYTES_MAX ? text : text + decoder.end();
  return whole.replaceAll('\r\n', '\n').replaceAll(/(?![\n\t])\p{Cc}|[\p{Bidi_Control}\u2028\u2029]/gu, '\uFFFD');
}
