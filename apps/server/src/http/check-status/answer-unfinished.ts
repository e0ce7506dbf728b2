import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Span } from '../../observability/tracing/tracing.ts';
import type { FoundTransaction } from '../../postgres/transaction-look-up.ts';
import { callerOf, type Reauthorize } from '../authorize.ts';
import { type ApiError, tooManyRequests } from '../errors.ts';
import type { OpenWaits } from '../open-waits.ts';
import { waitSeconds } from '../request-headers.ts';
import { prefersStream, streamStatus } from './stream.ts';
import { type RetryAfter, readRendered, sendTransaction } from './transaction-answer.ts';
import {
  findTransaction,
  type TransactionWatch,
  type TransactionWatchDependencies,
  watchTransaction,
} from './transaction-watch.ts';

/** A request about a transaction, and what its first look-up found. */
export interface UnfinishedRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly clientId: string;
  readonly found: FoundTransaction;
}

export interface UnfinishedAnswerDependencies extends TransactionWatchDependencies {
  /** As in `TransactionWatchDependencies`; resolves with whether a status inquiry was sent. */
  readonly refresh: (clientId: string, transactionId: string, rail: string, reader?: Span) => Promise<boolean>;
  readonly retryAfter: RetryAfter;
  readonly reauthorize: Reauthorize;
  readonly openWaits: OpenWaits;
  /** Requests of one client that may wait or stream at a time. Absent: derived from the client's rate limit. */
  readonly openWaitsMax?: number;
  readonly streamMaxMs?: number;
}

/**
 * How many requests of a client may wait or stream at a time, as a multiple of its limit per minute. Waits and streams
 * count together, for each costs the same: a connection, a look-up with each change, and more frequent status
 * inquiries. No wait lasts longer than the minute of the rate limit, so every request that the limit admits can wait.
 */
const OPEN_WAITS_TO_LIMIT_RATIO = 2;
/** The longest wait has ended by then. */
const OPEN_WAITS_RETRY_AFTER_MS = 60_000;
/** A stream ends then; a client that wants more continues after the last event that it has seen. */
const STREAM_MAX_MS = 10 * 60_000;

/** Seconds. A long poll that ended because its process stops may be sent again at once. */
const STOPPING_RETRY_AFTER = '1';

interface UnfinishedContext extends UnfinishedAnswerDependencies {
  /** Aborted when this process stops. */
  readonly stopping: AbortSignal;
}

/**
 * Answers about transactions in PROCESS: sends Retry-After, waits if the client asks for it (`Prefer: wait`, RFC 7240),
 * or streams the changes. A waiting request costs memory and no polling of the database: PostgreSQL notifies of
 * changes.
 */
export function createUnfinishedAnswers(dependencies: UnfinishedAnswerDependencies) {
  const stop = new AbortController();
  const context = { ...dependencies, stopping: stop.signal };
  return {
    answer(unfinished: UnfinishedRequest): void {
      answer(context, unfinished).catch((error: unknown) => unfinished.reply.send(error));
    },
    /** Ends every wait and stream, now and from now on: each gets the current state. */
    stop: () => stop.abort(),
  };
}

async function answer(
  context: UnfinishedContext,
  { request, reply, clientId, found }: UnfinishedRequest,
): Promise<void> {
  const streams = prefersStream(request.headers.accept);
  const requestedSeconds = streams ? null : waitSeconds(request.headers['prefer']);
  const staysOpen = streams || (requestedSeconds !== null && requestedSeconds > 0);
  if (staysOpen && found.progress !== 'final') await countOpenWait(context, request, reply);

  const transactionId = readRendered(found.rendered, 'transaction_id');
  let current = found;
  if (found.rail !== null) {
    const inquired = await context.refresh(clientId, transactionId, found.rail, request.span);
    if (inquired) current = await findTransaction(context.lookUp, clientId, transactionId);
  }

  const tokenLeftMs = callerOf(request).expiresAtMs - Date.now();
  const { reauthorize, stopping } = context;
  if (streams) {
    request.route += STREAMING;
    const watch = watchTransaction(context, clientId, transactionId, current);
    const maxMs = Math.min(context.streamMaxMs ?? STREAM_MAX_MS, tokenLeftMs);
    await streamStatus({ request, reply, watch, reauthorize, stopping, maxMs });
    return;
  }

  const seconds = requestedSeconds === null ? null : Math.min(requestedSeconds, waitSecondsWithin(tokenLeftMs));
  if (seconds !== null) {
    reply.header('preference-applied', `wait=${seconds}`);
    request.route += WAITING;
  }
  if (seconds !== null && seconds > 0 && current.progress !== 'final') {
    const watch = watchTransaction(context, clientId, transactionId, current);
    current = await untilFinal(watch, reply, seconds, stopping);
    const rejection = await reauthorize(request);
    if (rejection !== null) throw rejection;
  }
  // A wait that ended early, because this process stops, goes on in another process.
  const wasCutShort = seconds !== null && seconds > 0 && stopping.aborted;
  if (current.progress !== 'final')
    reply.header('retry-after', wasCutShort ? STOPPING_RETRY_AFTER : context.retryAfter(current.rendered));
  sendTransaction(request, reply, current);
}

/** @throws ApiError RATE_LIMIT_EXCEEDED when the client has its maximum of open waits */
async function countOpenWait(
  { openWaits, openWaitsMax }: UnfinishedContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { clientId, limits } = callerOf(request).client;
  const max = openWaitsMax ?? limits['check-status'] * OPEN_WAITS_TO_LIMIT_RATIO;
  if (!(await openWaits.admit(clientId, max, reply))) throw tooManyOpenWaits(max);
}

/**
 * The transaction as soon as it is final, and otherwise as it is after `seconds`, or when the client leaves or this
 * process stops. Stops the watch.
 */
async function untilFinal(
  watch: TransactionWatch,
  reply: FastifyReply,
  seconds: number,
  stopping: AbortSignal,
): Promise<FoundTransaction> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => resolve();
  const timer = setTimeout(done, seconds * 1000);
  stopping.addEventListener('abort', done, { once: true });
  reply.raw.once('close', done);
  // Both may have happened before the listeners were added.
  if (stopping.aborted || reply.raw.destroyed) done();
  try {
    watch.onChange((found) => {
      if (found.progress === 'final') done();
    });
    // Read after the watch began: a change between the first look-up and the watch sends no notification here.
    if ((await watch.read()).progress !== 'final') await promise;
    const latest = watch.latest();
    return latest.progress === 'final' ? latest : await watch.read();
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', done);
    reply.raw.off('close', done);
    watch.stop();
  }
}

/**
 * After the wait the token must still be valid, or the client could not be given the answer. The last read takes time,
 * too.
 */
const waitSecondsWithin = (tokenLeftMs: number): number => Math.max(0, Math.floor((tokenLeftMs - LAST_READ_MS) / 1000));
const LAST_READ_MS = 2_000;

const tooManyOpenWaits = (max: number): ApiError =>
  tooManyRequests(OPEN_WAITS_RETRY_AFTER_MS, {
    en: `No more than ${max} requests can wait or stream at a time: end some, or register a callback endpoint instead`,
    id:
      `Paling banyak ${max} permintaan dapat menunggu atau streaming bersamaan: akhiri sebagian, atau daftarkan ` +
      'endpoint callback',
  });

/**
 * Their durations are chosen by the client and say nothing of this service's speed: metrics count them as own routes.
 */
const WAITING = ' (waiting)';
const STREAMING = ' (streaming)';
