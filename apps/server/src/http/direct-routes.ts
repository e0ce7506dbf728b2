import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Caller } from '../auth/authenticator.ts';
import type { Span } from '../observability/tracing/tracing.ts';
import type { LookUpResult } from '../postgres/transaction-look-up.ts';
import type { Decision } from '../rate-limit/limiter.ts';

declare module 'node:http' {
  interface IncomingMessage {
    /** Of a request that a direct route began, and passed on to Fastify. */
    begun?: BegunRequest;
  }
}

/** What was done for a request and must not be done again. */
export interface BegunRequest {
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** Of a request that is sampled for a trace, which is all that was done for it. */
  readonly span?: Span;
  /** Of a request that was authenticated, and about which the rate limiter has decided. */
  readonly counted?: { readonly caller: Caller; readonly decision: Decision };
  readonly lookedUp?: LookUpResult;
}

/** A request that was answered with 200. */
export interface DirectAnswer {
  readonly requestId: string;
  /** The pattern, as Fastify's route has it. */
  readonly route: string;
  readonly startedMs: number;
  readonly caller: Caller;
}

/** What a direct route uses of its listener. */
export interface DirectListener {
  /** Notes that this response is the latest of its connection. */
  noteResponse(request: IncomingMessage, response: ServerResponse): void;
  /** For a request that is not passed on. */
  newRequestId(): string;
  /** The span of a request that is sampled for a trace: Fastify's hooks complete it. */
  sample(request: IncomingMessage): Span | undefined;
  /** Counts and logs an answer. */
  record(answer: DirectAnswer): void;
  /** Fastify answers. */
  passOn(request: IncomingMessage, response: ServerResponse, begun: BegunRequest): void;
  /** Whether answers close their connections. */
  isStopping(): boolean;
}

/**
 * Answers the plain form of one operation without Fastify, whose router, hooks, and objects of request and reply cost a
 * sixth of a status check (docs/decisions/0063). Returns false for any other request, before it had an effect. What
 * goes wrong later is passed on with what was done, so that Fastify's route gives every other answer.
 */
export type DirectRoute = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Puts the route in front of Fastify. */
export function addDirectRoute(
  server: Server,
  createRoute: (listener: DirectListener) => DirectRoute,
  listener: Omit<DirectListener, 'passOn'>,
  isOverloaded: () => boolean,
): void {
  const [fastify] = server.listeners('request') as RequestListener[];
  if (fastify === undefined) throw new Error('Fastify does not listen for requests');
  const route = createRoute({
    ...listener,
    passOn(request, response, begun) {
      request.begun = begun;
      fastify(request, response);
    },
  });
  server.removeListener('request', fastify);
  server.on('request', (request, response) => {
    const isDirect = !isOverloaded() && !listener.isStopping() && route(request, response);
    if (!isDirect) fastify(request, response);
  });
}
