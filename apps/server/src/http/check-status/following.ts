import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FoundTransaction } from '../../postgres/transaction-lookup.ts';
import type { Recheck } from '../gate.ts';
import { sendTransaction } from './answer.ts';
import { createEndings } from './endings.ts';
import { type RetryAfter, readRendered } from './open-transaction.ts';
import { waitSeconds } from './preferences.ts';
import { streamStatus } from './stream.ts';
import { prefersStream } from './stream-types.ts';
import { createViews, type View, type ViewParts } from './view.ts';

/** A request about a transaction, and what one look found. */
export interface Followed {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly clientId: string;
  readonly found: FoundTransaction;
}

export interface FollowingParts extends ViewParts {
  /** Whether somebody was asked; see `ViewParts`. */
  readonly refresh: (clientId: string, transactionId: string) => Promise<boolean>;
  readonly retryAfter: RetryAfter;
  readonly recheck: Recheck;
}

/**
 * Answers about transactions that are still on their way: says when to ask again, waits for whoever asks to
 * (`Prefer: wait`, RFC 7240), or streams the changes. However many wait, they cost memory and not a query each: they are
 * called when PostgreSQL tells of a change.
 */
export function createStatusFollowing(parts: FollowingParts) {
  const { retryAfter, refresh, recheck } = parts;
  const { look, view } = createViews(parts);
  const endings = createEndings();

  /** What is known as soon as it is final, after `seconds`, or when the client or this process leaves. */
  async function untilFinal(following: View, reply: FastifyReply, seconds: number): Promise<FoundTransaction> {
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

  async function answer({ request, reply, clientId, found }: Followed): Promise<void> {
    const transactionId = readRendered(found.rendered, 'transaction_id');
    let current = found;
    if (found.progress === 'askable') {
      const asked = await refresh(clientId, transactionId);
      if (asked) current = await look(clientId, transactionId);
    }

    if (prefersStream(request.headers.accept)) {
      request.route += STREAMING;
      await streamStatus({ request, reply, view: view(clientId, transactionId, current), recheck, endings });
      return;
    }

    const seconds = waitSeconds(request.headers['prefer']);
    if (seconds !== null) {
      reply.header('preference-applied', `wait=${seconds}`);
      request.route += WAITING;
    }
    if (seconds !== null && seconds > 0 && current.progress !== 'final') {
      current = await untilFinal(view(clientId, transactionId, current), reply, seconds);
      const refusal = await recheck(request);
      if (refusal !== null) throw refusal;
    }
    if (current.progress !== 'final') reply.header('retry-after', retryAfter(current.rendered));
    sendTransaction(request, reply, current);
  }

  return {
    follow(followed: Followed): void {
      answer(followed).catch((error: unknown) => followed.reply.send(error));
    },
    /** Nobody waits any longer, now or later: each gets what is known. */
    end: endings.all,
  };
}

/** They take as long as they were asked to, which says nothing of how fast this service is: they are counted apart. */
const WAITING = ' (waiting)';
const STREAMING = ' (streaming)';
