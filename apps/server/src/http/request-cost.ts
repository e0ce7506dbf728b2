import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BilingualText } from '../lib/bilingual-text.ts';
import type { LimitedOperation, Limiter } from '../rate-limit/limiter.ts';
import { callerOf, createClientRateLimits, setRateLimitHeaders } from './authorize.ts';
import { tooManyRequests } from './errors.ts';

/**
 * Counts a request whose cost depends on its body: `authorize` has counted it as one before the body was read, and this
 * counts the rest of `cost`, or nothing more. What is refused stays counted as one: reading its body has cost that.
 * @throws ApiError RATE_LIMIT_EXCEEDED when fewer are left
 */
export type CountCost = (request: FastifyRequest, reply: FastifyReply, cost: number) => Promise<void>;

export function createCountCost(limiter: Limiter, operation: LimitedOperation): CountCost {
  const rateLimitOf = createClientRateLimits(operation);
  return async (request, reply, cost) => {
    if (cost === 1) return;
    const rateLimit = rateLimitOf(callerOf(request).client);
    const { key, limit } = rateLimit;
    const decision = await limiter.take(key, limit, cost - 1);
    if (decision.admitted) {
      setRateLimitHeaders(reply, rateLimit, decision);
      return;
    }
    // The headers are about the next request, Retry-After is about this one, which is counted anew.
    setRateLimitHeaders(reply, rateLimit, await limiter.peek(key, limit));
    const { remaining, resetMs } = await limiter.peek(key, limit, cost);
    throw tooManyRequests(resetMs, cost > limit ? exceedsLimit(cost, limit) : exceedsRest(cost, remaining));
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
