import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import type { Dispatcher } from 'undici';
import type { ConnectionSlot } from './origin-pools.ts';
import { codeOf, exchangeFailure, OutboundFailure } from './outbound-failure.ts';

export interface OutboundReply {
  readonly status: number;
  /** The raw header (RFC 9110, 10.2.3: seconds or a date); null when it is missing or too long to be valid. */
  readonly retryAfter: string | null;
  /** The first KiB of the body, safe to show and to store. */
  readonly answer: string;
  readonly durationMs: number;
}

/** The body is read to keep the connection; a longer body closes it. */
const BODY_BYTES_MAX = 64 * 1024;
const ANSWER_BYTES_MAX = 1024;
/** Interim (1xx) replies, RFC 9110, 15.2. A receiver has no reason to send more than one or two. */
const INTERIM_REPLIES_MAX = 32;
const RETRY_AFTER_LENGTH_MAX = 64;

export interface ReplyOptions {
  readonly host: string;
  readonly timeoutMs: number;
  /** Released when undici has finished with the request. That can be long after the timeout, while it connects. */
  readonly slot: ConnectionSlot;
  resolve(reply: OutboundReply): void;
  /** With an OutboundFailure; with any other error when the request was invalid or the service is closing. */
  reject(error: Error): void;
}

/**
 * Receives one reply. The timeout starts with this call. undici's `request` would create a stream for the body, which
 * costs more. Compressed bodies are not decompressed.
 */
export function createReplyHandler(options: ReplyOptions): Dispatcher.DispatchHandler {
  const { host, timeoutMs, slot, resolve, reject } = options;
  const startedMs = performance.now();
  const timer = setTimeout(expire, timeoutMs);
  const chunks: Buffer[] = [];
  let bytes = 0;
  let interimReplies = 0;
  let status = 0;
  let retryAfter: string | null = null;
  let finished = false;
  let expired = false;
  let activeController: Dispatcher.DispatchController | undefined;

  function finishOnce(): boolean {
    if (finished) return false;
    finished = true;
    clearTimeout(timer);
    return true;
  }

  function expire(): void {
    const missed = activeController === undefined ? 'No connection to' : 'No complete reply of';
    const failure = new OutboundFailure('timeout', `${missed} ${host} within ${timeoutMs} ms`);
    expired = true;
    if (finishOnce()) reject(failure);
    slot.cancel();
    activeController?.abort(failure);
  }

  function finish(): void {
    if (!finishOnce()) return;
    const durationMs = Math.round(performance.now() - startedMs);
    resolve({ status, retryAfter, answer: toAnswer(chunks, bytes), durationMs });
  }

  return {
    onRequestStart(controller) {
      // Thrown instead of aborted: nothing was sent yet, so the connection stays usable for the next request.
      if (finished) throw new Error('the timeout passed before a connection was free');
      activeController = controller;
    },
    onResponseStart(_controller, statusCode, headers) {
      if (statusCode < 200) {
        interimReplies += 1;
        if (interimReplies > INTERIM_REPLIES_MAX) throw tooManyInterimReplies(host);
        return;
      }
      status = statusCode;
      retryAfter = retryAfterOf(headers);
    },
    onResponseData(controller, chunk) {
      // Copied: a slice of a chunk would keep the whole chunk in memory.
      if (bytes < ANSWER_BYTES_MAX) chunks.push(Buffer.from(chunk.subarray(0, ANSWER_BYTES_MAX - bytes)));
      bytes += chunk.length;
      if (bytes <= BODY_BYTES_MAX) return;
      finish();
      controller.abort(new Error(`more than ${BODY_BYTES_MAX} bytes`));
    },
    onResponseEnd() {
      finish();
      slot.release(false);
    },
    onResponseError(_controller, error) {
      const failure = toFailure(host, status !== 0, error);
      if (finishOnce()) reject(failure);
      slot.release(expired || (failure instanceof OutboundFailure && failure.reason === 'timeout'));
    },
  };
}

const tooManyInterimReplies = (host: string): OutboundFailure =>
  new OutboundFailure('too_large', `${host} sent more than ${INTERIM_REPLIES_MAX} interim (1xx) replies`);

/** Connection failures arrive classified already; a mistake of the caller is no failure of the receiver. */
function toFailure(host: string, answered: boolean, error: Error): Error {
  const faultsOfCaller = ['UND_ERR_INVALID_ARG', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED'];
  if (error instanceof OutboundFailure || faultsOfCaller.includes(codeOf(error))) return error;
  return exchangeFailure(host, answered, error);
}

function retryAfterOf(headers: IncomingHttpHeaders): string | null {
  const value: unknown = headers['retry-after'];
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === 'string' && first.length <= RETRY_AFTER_LENGTH_MAX ? first : null;
}

/**
 * Decodes leniently: invalid bytes become U+FFFD. So do control characters, which a terminal interprets and of which
 * PostgreSQL rejects U+0000, and characters that change the writing direction, which make a page display misleading
 * text.
 */
function toAnswer(kept: readonly Buffer[], bytes: number): string {
  const decoder = new StringDecoder('utf8');
  const text = decoder.write(Buffer.concat(kept));
  // A character that the limit cuts in two was sent correctly, so it is omitted instead of replaced.
  const whole = bytes > ANSWER_BYTES_MAX ? text : text + decoder.end();
  return whole.replaceAll('\r\n', '\n').replaceAll(/(?![\n\t])\p{Cc}|[\p{Bidi_Control}\u2028\u2029]/gu, '\uFFFD');
}
