import type { FastifyReply, FastifyRequest, onErrorAsyncHookHandler } from 'fastify';
import type { BilingualText } from '../lib/bilingual-text.ts';
import type { Limiter } from '../rate-limit/limiter.ts';
import { type ClientRateLimit, setRateLimitHeaders } from './authorize.ts';
import { tooManyRequests } from './errors.ts';

/**
 * Counts the requests of an operation whose cost depends on the body. Each is counted once: at its cost when the body
 * is known, or as one when it fails before that. So a request over the limit takes nothing from it, and a client that
 * sends broken bodies uses its limit up.
 */
export interface DeferredCount {
  /** The `deferCount` of the operation's `authorize`. */
  readonly defer: (request: FastifyRequest, rateLimit: ClientRateLimit) => void;
  /** An onError hook of the operation. */
  readonly onError: onErrorAsyncHookHandler;
  /**
   * Counts the request as `cost` requests, or as none.
   * @throws ApiError RATE_LIMIT_EXCEEDED when fewer are left
   */
  count(request: FastifyRequest, reply: FastifyReply, cost: number): Promise<void>;
}

export function createDeferredCount(limiter: Limiter): DeferredCount {
  const uncounted = new WeakMap<FastifyRequest, ClientRateLimit>();

  async function take(request: FastifyRequest, reply: FastifyReply, cost: number) {
    const rateLimit = uncounted.get(request);
    if (rateLimit === undefined) throw new Error('a request is counted twice, or its route does not defer the count');
    uncounted.delete(request);
    const { key, limit } = rateLimit;
    const decision = await limiter.take(key, limit, cost);
    // The headers are about the next request, Retry-After is about this one.
    setRateLimitHeaders(reply, rateLimit, decision.admitted ? decision : await limiter.peek(key, limit));
    return { ...decision, limit };
  }

  return {
    defer: (request, rateLimit) => void uncounted.set(request, rateLimit),
    async onError(request, reply) {
      if (uncounted.has(request)) await take(request, reply, 1);
    },
    async count(request, reply, cost) {
      const { admitted, remaining, resetMs, limit } = await take(request, reply, cost);
      if (admitted) return;
      throw tooManyRequests(resetMs, cost > limit ? exceedsLimit(cost, limit) : exceedsRest(cost, remaining));
    },
  };
}

const exceedsLimit = (cost: number, limit: number): BilingualText => ({
  en: `Too many requests: this one counts as ${cost}, and your limit is ${limit} a minute: send fewer IDs at a time`,
  id:
    `Terlalu banyak permintaan: permintaan ini dihitung sebagai ${cost}, sedangkan batas Anda ${limit} per menit: ` +
    'kirim lebih sedikit ID sekaligus',
});

const exceedsRest = (cost: number, remaining: number): BilingualText => ({
  en:
    `Too many requests: this one counts as ${cost}, and ${remaining} are left: wait for the number of seconds in ` +
    'Retry-After, or send fewer IDs',
  id:
    `Terlalu banyak permintaan: permintaan ini dihitung sebagai ${cost}, dan tersisa ${remaining}: tunggu selama ` +
    'jumlah detik di Retry-After, atau kirim lebih sedikit ID',
});
