import type { FastifyRequest, onRequestHookHandler } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** How long the request had waited here when its body was to be read; 0 without `noteWaited`. */
    waitedMs: number;
  }
}

/** The last hook before the body is read: the time in which it arrives is the client's own. */
export const noteWaited: onRequestHookHandler = (request, _reply, done) => {
  request.waitedMs = performance.now() - request.startedMs;
  done();
};

/**
 * From when a deadline counts, on the monotonic clock: now, less what the request has waited here before its body was
 * read. Call it when the body has arrived.
 */
export const arrivedMs = (request: FastifyRequest): number => performance.now() - request.waitedMs;
