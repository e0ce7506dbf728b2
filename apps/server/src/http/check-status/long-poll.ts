import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FoundTransaction } from '../../postgres/transaction-look-up.ts';
import { callerOf, type Reauthorize } from '../authorize.ts';
import { type ApiError, tooManyRequests } from '../errors.ts';
import { createOpenWaits } from '../open-waits.ts';
import { createEndings } from './endings.ts';
import { waitSeconds } from './prefer-wait.ts';
import { type RetryAfter, readRendered } from './retry-after.ts';
import { sendTransaction } from './send-transaction.ts';
import { streamStatus } from './stream.ts';
import { prefersStream } from './stream-types.ts';
import {
  createTransactionWatches,
  type TransactionWatch,
  type TransactionWatchDependencies,
} from './transaction-watch.ts';

/** A request about a transaction, and what one look found. */
export interface LongPolled {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly clientId: string;
  readonly found: FoundTransaction;
}

export interface LongPollDependencies extends TransactionWatchDependencies {
  /** Whether somebody was asked; see `ViewParts`. */
  readonly refresh: (clientId: string, transactionId: string) => Promise<boolean>;
  readonly retryAfter: RetryAfter;
  readonly reauthorize: Reauthorize;
  /** Answers of one client that wait or stream at a time. Absent: by its limit. */
  readonly followersMax?: number;
  readonly streamMaxMs?: number;
}

/**
 * Waits and streams together, for each costs the same: a connection, a look-up with each change, and a bank that is asked
 * more often. No wait is longer than the minute that the limit is of, so all that a client may begin can wait.
 */
const FOLLOWERS_PER_MINUTE_LIMIT = 2;
/** By then the longest wait has ended. */
const FOLLOWERS_RETRY_AFTER_MS = 60_000;
/** A stream ends then; whoever wants more goes on from the last event that it has seen. */
const STREAM_MAX_MS = 10 * 60_000;

/**
 * Answers about transactions that are still on their way: says when to ask again, waits for whoever asks to
 * (`Prefer: wait`, RFC 7240), or streams the changes. However many wait, they cost memory and not a query each: they are
 * called when PostgreSQL tells of a change.
 */
export function createLongPoll(dependencies: LongPollDependencies) {
  const { retryAfter, refresh, reauthorize, streamMaxMs = STREAM_MAX_MS } = dependencies;
  const { look, view } = createTransactionWatches(dependencies);
  const followers = createOpenWaits();
  const endings = createEndings();

  /** What is known as soon as it is final, after `seconds`, or when the client or this process leaves. */
  async function untilFinal(
    following: TransactionWatch,
    reply: FastifyReply,
    seconds: number,
  ): Promise<FoundTransaction> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, seconds * 1000);
    endings.add(resolve);
    reply.raw.once('close', resolve);
    // It may have closed before anybody listened.
    if (reply.raw.destroyed) resolve();
    try {
      following.onChange((found) => {
        if (found.progress === 'final') resolve();
      });
      // A change between the first look and the watch would not be heard of.
      if ((await following.read()).progress !== 'final') await promise;
      const latest = following.latest();
      return latest.progress === 'final' ? latest : await following.read();
    } finally {
      clearTimeout(timer);
      endings.remove(resolve);
      reply.raw.off('close', resolve);
      following.end();
    }
  }

  async function answer({ request, reply, clientId, found }: LongPolled): Promise<void> {
    const streams = prefersStream(request.headers.accept);
    const wanted = streams ? null : waitSeconds(request.headers['prefer']);
    const follows = streams || (wanted !== null && wanted > 0);
    if (follows && found.progress !== 'final') {
      const { limits } = callerOf(request).client;
      const max = dependencies.followersMax ?? limits['check-status'] * FOLLOWERS_PER_MINUTE_LIMIT;
      if (!followers.admit(clientId, max, reply)) throw tooMany(max);
    }
    const transactionId = readRendered(found.rendered, 'transaction_id');
    let current = found;
    if (found.progress === 'inquirable') {
      const asked = await refresh(clientId, transactionId);
      if (asked) current = await look(clientId, transactionId);
    }

    const tokenLeftMs = callerOf(request).expiresAtMs - Date.now();
    if (streams) {
      request.route += STREAMING;
      const following = view(clientId, transactionId, current);
      await streamStatus({
        request,
        reply,
        view: following,
        reauthorize,
        endings,
        maxMs: Math.min(streamMaxMs, tokenLeftMs),
      });
      return;
    }

    const seconds = wanted === null ? null : Math.min(wanted, waitSecondsWithin(tokenLeftMs));
    if (seconds !== null) {
      reply.header('preference-applied', `wait=${seconds}`);
      request.route += WAITING;
    }
    if (seconds !== null && seconds > 0 && current.progress !== 'final') {
      current = await untilFinal(view(clientId, transactionId, current), reply, seconds);
      const refusal = await reauthorize(request);
      if (refusal !== null) throw refusal;
    }
    if (current.progress !== 'final') reply.header('retry-after', retryAfter(current.rendered));
    sendTransaction(request, reply, current);
  }

  return {
    follow(followed: LongPolled): void {
      answer(followed).catch((error: unknown) => followed.reply.send(error));
    },
    /** Nobody waits any longer, now or later: each gets what is known. */
    end: endings.all,
  };
}

/** Whoever has waited is let in again only with a token that is good until then. The last look takes time, too. */
const waitSecondsWithin = (tokenLeftMs: number): number => Math.max(0, Math.floor((tokenLeftMs - LAST_LOOK_MS) / 1000));
const LAST_LOOK_MS = 2_000;

const tooMany = (max: number): ApiError =>
  tooManyRequests(
    FOLLOWERS_RETRY_AFTER_MS,
    `No more than ${max} requests can wait or stream at a time: end some, or register a callback endpoint instead`,
  );

/** They take as long as they were asked to, which says nothing of how fast this service is: they are counted apart. */
const WAITING = ' (waiting)';
const STREAMING = ' (streaming)';
