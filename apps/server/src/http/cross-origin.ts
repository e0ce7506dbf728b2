import type { FastifyInstance, FastifyRequest } from 'fastify';

/**
 * Web pages of other origins call the operations (Fetch standard, "CORS protocol"; docs/contract.md 2.7). The login is
 * left out: a page that could use it would hold a client secret. `Access-Control-Allow-Credentials` is never sent,
 * because a page sends its token by itself, and cookies mean nothing here.
 */

const OPERATIONS = '/api/';

/** What the operations read, and what tracing in a page adds. */
const REQUEST_HEADERS = [
  'Accept, Accept-Language, Authorization, Cache-Control, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID',
  'Prefer, traceparent, tracestate',
].join(', ');

/** What a page may read beyond Cache-Control, Content-Language and Content-Type, which it always may. */
const RESPONSE_HEADERS = [
  'Age, Allow, ETag, Link, Location, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, Tiba-Environment',
  'WWW-Authenticate, X-Request-Id',
].join(', ');

/** For how long a browser may keep the answer to a preflight request: Chromium keeps none for longer. */
const PREFLIGHT_SECONDS = 7_200;

const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, PATCH, POST',
  'access-control-allow-headers': REQUEST_HEADERS,
  'access-control-max-age': String(PREFLIGHT_SECONDS),
} as const;

const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;

/**
 * Every answer of an operation to a page of one of these origins says that the page may read it, errors too. Call it
 * before hooks that may reject a request.
 */
export function admitOrigins(app: FastifyInstance, origins: ReadonlySet<string>): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers;
    if (origin !== undefined && origins.has(origin) && request.url.startsWith(OPERATIONS)) {
      reply.header('access-control-allow-origin', origin);
      if (!isPreflight(request)) reply.header('access-control-expose-headers', RESPONSE_HEADERS);
    }
    done();
  });
  // A cache must not give one origin's answer to another origin, nor one that was asked for without an origin.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.url.startsWith(OPERATIONS)) {
      const vary = reply.getHeader('vary');
      reply.header('vary', vary === undefined ? 'Origin' : `${String(vary)}, Origin`);
    }
    done(null, payload);
  });
}

/**
 * Answers a browser that asks whether a page may send a request: without a token, and counted against no limit. Call it
 * after the hooks that every request passes, and before routes are added.
 */
export function answerPreflights(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (isPreflight(request) && reply.hasHeader('access-control-allow-origin')) {
      reply.code(204).headers(PREFLIGHT_HEADERS).send();
      return;
    }
    done();
  });
}
