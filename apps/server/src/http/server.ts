import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { Socket } from 'node:net';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  type onRequestHookHandler,
} from 'fastify';
import type { Caller } from '../auth/authenticator.ts';
import type { Access, AccessLog } from '../observability/access-log.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { DatabaseUnavailable } from '../postgres/database.ts';
import { ENVELOPE_HEADERS, failure } from './envelope.ts';
import { ApiError, type ErrorCode, unavailable } from './errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the gate (gate.ts) on routes that need a caller. */
    caller: Caller | null;
    /** The code of the error this request was answered with, for the access log. */
    errorCode: ErrorCode | null;
    /** What else the access log should say. Must be masked. */
    logged: Readonly<Record<string, unknown>> | null;
    /** The pattern of its route, `none` where there is none: never what was asked for. What is counted apart says so behind it. */
    route: string;
    /** When its head had arrived, on the monotonic clock. */
    startedMs: number;
  }
}

/**
 * The schemas describe; the operations judge by their own rules, in the order that the contract gives. Where there is no
 * validator Fastify does not even look at what it would validate.
 */
const DESCRIBING_ONLY = {
  compilersFactory: { buildValidator: () => () => undefined, buildSerializer: () => () => JSON.stringify },
} as unknown as NonNullable<FastifyServerOptions['schemaController']>;

export interface ListenerOptions {
  readonly name: 'public' | 'operator';
  readonly log: Log;
  readonly accessLog: AccessLog;
  readonly metrics: Metrics;
  /** Addresses or networks of the reverse proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** How long a whole request may take to arrive. 0 for no bound: a feed may be as long as it likes. */
  readonly requestTimeoutMs: number;
}

/** docs/contract.md 7.1. */
const BODY_BYTES_MAX = 16 * 1024;
const HEADER_BYTES_MAX = 16 * 1024;
/** Slow or silent peers are cut off: a socket that sends a byte now and then would otherwise be held for ever. */
const HEADERS_TIMEOUT_MS = 10_000;
const CONNECTIONS_CHECKING_INTERVAL_MS = 1_000;
const KEEP_ALIVE_TIMEOUT_MS = 75_000;
/**
 * Longer than anything that clients may wait for: past twice this (Node looks once whether something was taken meanwhile), the
 * peer has stopped reading. A feed has its own.
 */
const SILENT_TIMEOUT_MS = 90_000;
const STORE_RETRY_AFTER_MS = 1_000;

/** An HTTP listener whose every answer is in the envelope, also for what never reaches a route. */
export function createServer(options: ListenerOptions): FastifyInstance {
  const { name, log, accessLog, metrics, trustedProxies, requestTimeoutMs } = options;
  const isPublic = name === 'public';
  const newRequestId = createRequestIds();
  const latest = new WeakMap<Socket, http.ServerResponse>();
  const logRefused: LogRefused = (refused) => accessLog({ listener: name, ...refused });

  const app = Fastify({
    logger: false,
    genReqId: newRequestId,
    bodyLimit: BODY_BYTES_MAX,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionTimeout: isPublic ? SILENT_TIMEOUT_MS : 0,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    schemaController: DESCRIBING_ONLY,
    // Identifiers hold what they like, encoded: they are checked by their own rules, not by their length in the URL.
    routerOptions: { maxParamLength: HEADER_BYTES_MAX },
    http: {
      maxHeaderSize: HEADER_BYTES_MAX,
      // Node would answer outside the envelope: the hook below asks for it.
      requireHostHeader: false,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECKING_INTERVAL_MS,
      // A request without a body is no stream that has to end: that is a twentieth of a status check. Feeds are read as streams.
      optimizeEmptyRequests: isPublic,
    },
    clientErrorHandler(error, socket) {
      refuseMalformed(error, socket, latest.get(socket), newRequestId(), logRefused);
    },
    // The router would refuse a path with broken percent-encoding before it looks for a route, and so before the caller
    // is known. With its percent signs escaped it finds its route; who decodes for himself reads `originalUrl`.
    rewriteUrl: ({ url = '/' }) => (isDecodable(url) ? url : url.replaceAll('%', '%25')),
  });

  // RFC 9110, section 10.1.1: an expectation that means nothing here may be passed over. Node would answer outside the
  // envelope.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));

  app.decorateRequest('caller', null);
  app.decorateRequest('errorCode', null);
  app.decorateRequest('logged', null);
  app.decorateRequest('startedMs', 0);
  app.decorateRequest('route', 'none');

  app.addHook('onRequest', (request, reply, done) => {
    request.startedMs = performance.now();
    reply.header('x-request-id', request.id);
    latest.set(request.raw.socket, reply.raw);
    // Node lets go of what came behind such a request.
    if (request.headers.upgrade !== undefined) reply.header('connection', 'close');
    done(refusalBeforeRouting(request, name));
  });

  // Fastify knows the pattern too, but gathers all that it knows of the route whenever it is asked.
  app.addHook('onRoute', (route) => {
    const remember: onRequestHookHandler = (request, _reply, done) => {
      request.route = route.url;
      done();
    };
    const last = isPublic && route.method !== 'GET' ? [expectNoMissingBody] : [];
    route.onRequest = [remember, ...[route.onRequest ?? []].flat(), ...last];
  });

  // When the answer is handed over, not when the last byte has left: a client that is gone by then was answered too.
  app.addHook('onSend', (request, reply, payload, done) => {
    const { route } = request;
    const durationMs = performance.now() - request.startedMs;
    metrics.requests.record(route, reply.statusCode, durationMs);
    accessLog({
      listener: name,
      requestId: request.id,
      method: request.method,
      route,
      status: reply.statusCode,
      durationMs,
      clientId: request.caller?.client.clientId,
      errorCode: request.errorCode,
      more: request.logged,
    });
    done(null, payload);
  });

  app.setErrorHandler((error, request, reply) => answerError(error, request, reply, log));

  app.setNotFoundHandler((request) => {
    throw notFound(name, request.originalUrl);
  });

  return app;
}

/**
 * The last judgement before the body is read. Whoever names the type of a body and sends none would be waited for: such a
 * request has no stream that ends (`optimizeEmptyRequests`). Without a type, Fastify looks for no body.
 */
const expectNoMissingBody: onRequestHookHandler = ({ headers }, _reply, done) => {
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) {
    delete headers['content-type'];
  }
  done();
};

/** Before the body is looked at: no body makes a missing route or a malformed head right. */
function refusalBeforeRouting(request: FastifyRequest, listener: ListenerOptions['name']): ApiError | undefined {
  // RFC 9112, section 3.2.
  if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
    return new ApiError('INVALID_FORMAT', { message: 'Malformed HTTP request: Host is missing' });
  }
  const repeated = repeatedHeader(request.raw.rawHeaders);
  if (repeated !== undefined) {
    return new ApiError('INVALID_FORMAT', { message: `Malformed HTTP request: ${repeated} is given more than once` });
  }
  return request.is404 ? notFound(listener, request.originalUrl) : undefined;
}

/** Only the public listener has a page of its operations. */
function notFound(listener: ListenerOptions['name'], url: string): ApiError {
  const operations = listener === 'public' ? 'at /reference' : 'in docs/operating.md and docs/feed.md';
  // Many reference IDs have slashes.
  const hint = url.startsWith('/api/v1/check-status/')
    ? '. A slash in an ID is written %2F, or give ?reference_id='
    : '';
  return new ApiError('NOT_FOUND', { message: `No such route: the operations are listed ${operations}${hint}` });
}

const SINGLE_HEADERS = ['Host', 'Content-Type', 'Authorization'] as const;
/** A bit for each length of a name. Lengths that share one cost a closer look, nothing else. */
const lengthBit = (name: string): number => 1 << (name.length & 31);
const SINGLE_BITS = SINGLE_HEADERS.reduce((bits, name) => bits | lengthBit(name), 0);

/**
 * Of these, Node takes the first and passes over the others; what stands in front of Tiba may have judged another one.
 * `rawHeaders` is names and values in turn. Letters are compared only where two names are equally long: every request
 * comes through here.
 */
function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  let seen = 0;
  let twice = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const bit = lengthBit(rawHeaders[index] as string);
    twice |= seen & bit;
    seen |= bit;
  }
  if ((twice & SINGLE_BITS) === 0) return undefined;
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  return SINGLE_HEADERS.find((name) => names.indexOf(name.toLowerCase()) !== names.lastIndexOf(name.toLowerCase()));
}

const isDecodable = (url: string): boolean => {
  if (!url.includes('%')) return true;
  try {
    decodeURIComponent(url.split('?', 1)[0] as string);
    return true;
  } catch {
    return false;
  }
};

/** Answers in the envelope, whatever was thrown; what the caller has no part in goes to the log. */
function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): FastifyReply {
  const apiError = asApiError(error, request);
  request.errorCode = apiError.code;
  if (apiError.statusCode >= 500 && apiError.cause !== undefined) {
    const level = apiError.code === 'INTERNAL_ERROR' ? 'error' : 'warn';
    log[level]({ requestId: request.id, err: apiError.cause }, apiError.message);
  }
  return reply
    .code(apiError.statusCode)
    .headers({ ...ENVELOPE_HEADERS, ...apiError.headers })
    .send(failure(apiError.code, apiError.message));
}

function asApiError(error: unknown, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DatabaseUnavailable) {
    return unavailable('The store cannot answer now: repeat the request', STORE_RETRY_AFTER_MS, error);
  }
  const code = error instanceof Error && 'code' in error ? FASTIFY_ERRORS[String(error.code)] : undefined;
  if (code === undefined) return new ApiError('INTERNAL_ERROR', { cause: error });
  if (code !== 'PAYLOAD_TOO_LARGE') return new ApiError(code, { cause: error });
  const kib = Math.floor(request.routeOptions.bodyLimit / 1024);
  return new ApiError(code, { message: `The request body is too large: send at most ${kib} KiB`, cause: error });
}

const FASTIFY_ERRORS: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'PAYLOAD_TOO_LARGE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'INVALID_FORMAT',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'INVALID_FORMAT',
  // The client stopped sending; nobody is there to read the answer, but the log shall not call it a fault of ours.
  ECONNRESET: 'REQUEST_TIMEOUT',
};

type LogRefused = (access: Omit<Access, 'listener'>) => void;

/**
 * What Node's parser could not read never becomes a request: the answer is written to the bare socket. `latest` is the
 * answer to the last request that the parser could read there: each request gets one answer, and in their order.
 */
function refuseMalformed(
  error: Error & { code?: string },
  socket: Socket,
  latest: http.ServerResponse | undefined,
  requestId: string,
  logRefused: LogRefused,
): void {
  const inBody = latest !== undefined && !latest.req.complete;
  if (error.code === 'ECONNRESET' || !socket.writable || (inBody && latest.headersSent)) {
    socket.destroy();
    return;
  }
  if (latest !== undefined && !inBody && !latest.writableFinished) {
    latest.once('finish', () => refuseMalformed(error, socket, latest, requestId, logRefused));
    return;
  }
  const apiError =
    PARSER_ERRORS[error.code ?? '']?.() ?? new ApiError('INVALID_FORMAT', { message: 'Malformed HTTP request' });
  const body = failure(apiError.code, apiError.message);
  const headers = {
    ...ENVELOPE_HEADERS,
    'x-request-id': requestId,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const { statusCode } = apiError;
  socket.end(`HTTP/1.1 ${statusCode} ${http.STATUS_CODES[statusCode]}\r\n${head.join('')}\r\n${body}`);
  logRefused({
    requestId,
    method: 'none',
    route: 'none',
    status: statusCode,
    durationMs: 0,
    clientId: undefined,
    errorCode: apiError.code,
    more: { parserError: error.code },
  });
}

const PARSER_ERRORS: Readonly<Record<string, () => ApiError>> = {
  HPE_HEADER_OVERFLOW: () => new ApiError('HEADERS_TOO_LARGE'),
  ERR_HTTP_REQUEST_TIMEOUT: () => new ApiError('REQUEST_TIMEOUT'),
};

/** Unique over processes and restarts, without a call for random bytes for each request. */
function createRequestIds(): () => string {
  const prefix = randomBytes(9).toString('base64url');
  let count = 0;
  return () => `${prefix}-${(count += 1)}`;
}
