import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import type { FoundTransaction } from '../../postgres/transaction-look-up.ts';
import type { Reauthorize } from '../authorize.ts';
import { LANGUAGE_HEADERS } from '../envelope.ts';
import { cursorGone } from '../errors.ts';
import { languageOf } from '../language.ts';
import { preferredType } from '../request-headers.ts';
import { entityTag, renderedIn } from './transaction-answer.ts';
import type { TransactionWatch } from './transaction-watch.ts';

/** Server-sent events (HTML Living Standard, section 9.2). */
export const STREAM_TYPES = ['text/event-stream'] as const;

export const prefersStream = (accept: string | undefined): boolean =>
  accept?.includes('event-stream') === true && preferredType(accept, STREAM_TYPES) !== null;

/** Proxies close connections that are silent for a minute, and only a write shows that a client has gone. */
const HEARTBEAT_MS = 15_000;
/** How long a client waits before it connects again. */
const RETRY_MS = 2_000;
/** The least wait when this process stops. Up to `RETRY_MS` more, so that its clients do not all come back at once. */
const STOPPING_RETRY_MS = 250;

export interface StatusStream {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly watch: TransactionWatch;
  readonly reauthorize: Reauthorize;
  /** Aborted when this process stops. */
  readonly stopping: AbortSignal;
  readonly maxMs: number;
}

/**
 * Streams the changes of one transaction as server-sent events (HTML Living Standard, section 9.2). Each event's id is
 * the transaction's version, so that `Last-Event-ID` says what the client has seen. The stream ends after the final
 * status, or after `maxMs`. A client that reconnects after the final status gets 204, which tells it to stop.
 */
export async function streamStatus(options: StatusStream): Promise<void> {
  const { request, reply, watch } = options;
  const lastSeen = request.headers['last-event-id'];
  // Read after the watch began: a change between the first look-up and the watch sends no notification here.
  const first = await watch.read().catch((error: unknown) => {
    watch.stop();
    throw error;
  });
  if (isFromLostTime(lastSeen, first.version)) {
    watch.stop();
    throw cursorGone(LOST_VERSION, request.url);
  }
  const language = languageOf(request);
  reply
    .headers(LANGUAGE_HEADERS[language])
    .header('cache-control', 'no-store')
    .header('etag', entityTag(first.version, language));
  if (first.progress === 'final' && lastSeen === first.version) {
    watch.stop();
    reply.code(204).send();
    return;
  }
  sendEvents(options, lastSeen);
}

/** A greater version than the present one was lost when a backup was restored. */
const isFromLostTime = (lastSeen: unknown, version: string): boolean =>
  typeof lastSeen === 'string' && /^\d{1,10}$/.test(lastSeen) && Number(lastSeen) > Number(version);

const LOST_VERSION: BilingualText = {
  en:
    'The version in Last-Event-ID was lost when the service was restored from a backup: connect again without ' +
    'Last-Event-ID, and forget what you knew of this transaction',
  id:
    'Versi di Last-Event-ID hilang saat layanan dipulihkan dari cadangan: sambungkan lagi tanpa Last-Event-ID, dan ' +
    'abaikan status transaksi ini yang diketahui sebelumnya',
};

function sendEvents({ request, reply, watch, reauthorize, stopping, maxMs }: StatusStream, lastSeen: unknown): void {
  const stream = new Readable({ read: () => {} });
  const language = languageOf(request);
  let sentVersion = lastSeen;
  let finished = false;

  function finish(): void {
    if (finished) return;
    finished = true;
    clearInterval(heartbeat);
    clearTimeout(timeout);
    stopping.removeEventListener('abort', finishElsewhere);
    watch.stop();
    stream.push(null);
  }
  /** Another process goes on with the stream, after the last event that the client has seen. */
  function finishElsewhere(): void {
    const retryMs = STOPPING_RETRY_MS + Math.floor(Math.random() * RETRY_MS);
    if (!finished) stream.push(`: this process stops; connect again\nretry: ${retryMs}\n\n`);
    finish();
  }
  function send(found: FoundTransaction): void {
    if (finished) return;
    if (found.version !== sentVersion) {
      sentVersion = found.version;
      stream.push(`id: ${found.version}\nevent: status\ndata: ${renderedIn(language, found.rendered)}\n\n`);
    }
    if (found.progress === 'final') finish();
  }
  /** A client whose token has expired, or that was disabled meanwhile, gets nothing more. */
  async function ifStillAuthorized(write: () => void): Promise<void> {
    const rejection = await reauthorize(request);
    if (finished) return;
    if (rejection === null) write();
    else finish();
  }

  const heartbeat = setInterval(() => void ifStillAuthorized(() => stream.push(': still here\n\n')), HEARTBEAT_MS);
  const timeout = setTimeout(finish, maxMs);
  // Fastify also destroys the stream when the client had left before.
  stream.once('close', finish);
  watch.onChange((found) => void ifStillAuthorized(() => send(found)));
  stream.push(`retry: ${RETRY_MS}\n\n`);
  reply.header('content-type', 'text/event-stream').header('x-accel-buffering', 'no').send(stream);
  send(watch.latest());
  if (finished) return;
  stopping.addEventListener('abort', finishElsewhere, { once: true });
  if (stopping.aborted) finishElsewhere();
}
