import type { FastifyReply } from 'fastify';
import { type ConcurrencyLimiter, createConcurrencyLimiter } from '../rate-limit/concurrency-limiter.ts';

/** Counts the requests of each client that wait or stream. */
export interface OpenWaits {
  /**
   * Counts one more, unless the client has `max` of them. It counts until its answer was sent or its client has gone.
   */
  admit(clientId: string, max: number, reply: FastifyReply): boolean | Promise<boolean>;
}

/** @param limiter by default one in this process's memory */
export function createOpenWaits(limiter: ConcurrencyLimiter = createConcurrencyLimiter()): OpenWaits {
  function releaseAtEnd(clientId: string, { raw }: FastifyReply): void {
    // A response that is destroyed already emits no 'close' event.
    if (raw.destroyed) limiter.release(clientId);
    else raw.once('close', () => limiter.release(clientId));
  }

  return {
    admit(clientId, max, reply) {
      const isAdmitted = limiter.acquire(clientId, max);
      if (isAdmitted === false) return false;
      if (isAdmitted === true) {
        releaseAtEnd(clientId, reply);
        return true;
      }
      return isAdmitted.then((admitted) => {
        if (admitted) releaseAtEnd(clientId, reply);
        return admitted;
      });
    },
  };
}
