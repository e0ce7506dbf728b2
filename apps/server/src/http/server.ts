import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import Fastify, {
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyRequest,
  type FastifyServerOptions,
  type onRequestHookHandler,
} from 'fastify';
import type { Caller } from '../auth/authenticator.ts';
import type { AccessLog } from '../observability/access-log.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Tracing } from '../observability/tracing/tracing.ts';
import { createAdmission } from './admission.ts';
import { type ConnectionLimits, limitConnections } from './connections/connection-limits.ts';
import { createPipelining } from './connections/pipelining.ts';
import { disconnectSlowReaders } from './connections/unread-answers.ts';
import { admitOrigins, answerPreflights } from './cross-origin.ts';
import { addDirectRoute, type DirectListener, type DirectRoute } from './direct-routes.ts';
import { type ErrorAnswer, type ErrorForm, operatorErrorForm, publicErrorForm } from './envelope.ts';
import { answerError, answerMalformed, type ErrorAnswering, errorAnswer, rejectTunnel } from './error-answers.ts';
import { type ErrorCode, unavailable } from './errors.ts';
import { addHeadRoute } from './head-route.ts';
import type { LoadMonitor } from './load-monitor.ts';
import { collectMethods, type ServedMethods } from './method-not-allowed.ts';
import { recordAnswer } from './record-answer.ts';
import {
  checkHead,
  expectsContinue,
  ignoreMissingBody,
  isDecodable,
  type ListenerName,
  notFound,
  rejectCutOff,
  sendContinue,
} from './request-checks.ts';
import { createRequestTracing, type RequestTracing } from './request-tracing.ts';
import { watchHandshakes } from './tls/handshakes.ts';
import type { TlsIdentity } from './tls/identity.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the authorize hook (authorize.ts) on routes that need a caller. */
    caller: Caller | null;
    /** The code of the error that this request was answered with, for the access log. */
    errorCode: ErrorCode | null;
    /** More fields for the access log. Must be masked. */
    logFields: Readonly<Record<string, unknown>> | null;
    /**
     * The pattern of the route, `none` where no route matches: never the URL. Waits and streams append what they are.
     */
    route: string;
    /** Resolves when the end of a response that tells progress is known, and is logged. Null: at its beginning. */
    endOfProgress: Promise<void> | null;
    /** When the request's head had arrived, on the monotonic clock. */
    startedMs: number;
  }
  interface FastifyContextConfig {
    /** The media type of bodies that the operation reads as a stream. `bodyLimit` does not hold for them. */
    streamedType?: string;
    /** The operation reads only strings from its body, which may be long: parsing it must not take long. */
    readsStringsOnly?: true;
  }
  interface FastifyInstance {
    /** Requests whose operation bounds the time in which the body arrives. Any other must arrive within 10 s. */
    readonly pacedRequests: WeakSet<http.IncomingMessage>;
    /** Call it when all routes are added: answers the methods that their paths do not have. */
    readonly answerOtherMethods: () => void;
    /** Call it before that, for a path that has no method in this installation: an empty `Allow` says so. */
    readonly addUnserved: ServedMethods['addUnserved'];
    /** The answer to an error of a request whose response has begun. It is logged like the others. */
    readonly errorAnswer: (error: unknown, request: FastifyRequest) => ErrorAnswer;
  }
}

/**
 * The schemas only describe. The operations validate by their own rules, in the order of docs/contract.md 7.2. Without
 * a validator Fastify does not even look at what it would validate.
 */
const WITHOUT_VALIDATION = {
  compilersFactory: { buildValidator: () => () => undefined, buildSerializer: () => () => JSON.stringify },
} as unknown as NonNullable<FastifyServerOptions['schemaController']>;

export interface ListenerOptions {
  readonly name: ListenerName;
  readonly log: Log;
  readonly accessLog: AccessLog;
  readonly metrics: Metrics;
  /** Addresses or networks of the reverse proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  readonly connections: Pick<ConnectionLimits, 'total' | 'perAddress'>;
  /** Null: plain HTTP. */
  readonly tls: TlsIdentity | null;
  readonly load: Pick<LoadMonitor, 'isOverloaded' | 'waitMaxMs' | 'noteRejection'>;
  /** True from SIGTERM on: answers then close their connections, so that clients reach another process. */
  readonly isStopping: () => boolean;
  /** Null while tracing is off: requests then cost two comparisons. */
  readonly tracing?: Tracing | null;
  /** Whether the trace context of requests is from a party of the operator; on the operator listener it always is. */
  readonly trustTraceparent?: boolean;
  /** By default the envelope. */
  readonly errorForm?: ErrorForm;
  /** On every answer; lower-case names. */
  readonly answerHeaders?: Readonly<Record<string, string>>;
  /** Web pages of these origins may call the operations. With none, requests cost nothing more. */
  readonly allowedOrigins?: readonly string[];
  /** The path of the route that a request path leads to. By default the path itself. */
  readonly rewritePath?: (path: string) => string;
  /** In front of Fastify. It knows no other origins and no `answerHeaders`, and is left out with them. */
  readonly directRoute?: (listener: DirectListener) => DirectRoute;
  /** Shorter in tests that cannot wait. */
  readonly slowPeers?: Partial<SlowPeerTimeouts>;
}

/** How long a peer may be slower than its pace, in milliseconds. */
export interface SlowPeerTimeouts {
  /** A request that has not arrived. A feed, which may have any length, has a pace instead. */
  readonly requestMs: number;
  /** An answer that is not read (unread-answers.ts). */
  readonly unreadAnswerMs: number;
  /** A line of a feed that is not completed (operator/feed/pace.ts). */
  readonly feedLineMs: number;
}

const UNREAD_ANSWER_MS = 30_000;

/** docs/contract.md 7.1, PAYLOAD_TOO_LARGE. */
const BODY_BYTES_MAX = 16 * 1024;
const HEADER_BYTES_MAX = 16 * 1024;
/**
 * For the head, and for the whole request. Slow or silent peers are disconnected: otherwise a socket that sends a byte
 * now and then stays open without end. A feed, which may have any length, has a pace instead (operator/feed/pace.ts).
 */
export const REQUEST_TIMEOUT_MS = 10_000;
const CONNECTIONS_CHECKING_INTERVAL_MS = 1_000;
const KEEP_ALIVE_TIMEOUT_MS = 75_000;
/**
 * Longer than any wait that a client may ask for. Node checks once whether the peer read anything meanwhile, so a peer
 * that has stopped reading is disconnected after twice this time, unless unread-answers.ts has disconnected it before.
 */
const SILENT_TIMEOUT_MS = 90_000;

/**
 * An HTTP listener whose every error is in the envelope or in `errorForm`, including answers to requests that never
 * reach a route.
 */
export function createServer(options: ListenerOptions): FastifyInstance {
  const { name, log, accessLog, metrics, trustedProxies } = options;
  const form = errorFormOf(options);
  const newRequestId = createRequestIds();
  const latestResponses: LatestResponses = new WeakMap();
  const pacedRequests = new WeakSet<http.IncomingMessage>();
  const pipelining = createPipelining();
  const answering: ErrorAnswering = { form, log, logMalformed: (access) => accessLog({ listener: name, ...access }) };

  const app = createFastify(options, {
    genReqId: newRequestId,
    clientErrorHandler(error, socket) {
      if (pipelining.isStopped(error, socket)) return;
      const latest = latestResponses.get(socket);
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && latest !== undefined && pacedRequests.has(latest.req)) return;
      answerMalformed(error, socket, latest, newRequestId(), answering);
    },
  });

  // RFC 9110, section 10.1.1: an expectation that has no meaning here may be ignored. Node would answer outside the
  // envelope.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  // Node would ask for the body at once. `sendContinue` does, when the request was not rejected without it.
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', (_request, socket) => {
    // Connections of an HTTP server are sockets; the event allows for other streams.
    if (!(socket instanceof Socket)) socket.destroy();
    else rejectTunnel(socket, latestResponses.get(socket), newRequestId(), answering);
  });

  app.decorateRequest('caller', null);
  app.decorateRequest('errorCode', null);
  app.decorateRequest('logFields', null);
  app.decorateRequest('startedMs', 0);
  app.decorateRequest('route', 'none');
  app.decorate('pacedRequests', pacedRequests);
  const methods = collectMethods(app, HEADER_BYTES_MAX);
  app.decorate('answerOtherMethods', methods.addRefusals);
  app.decorate('addUnserved', methods.addUnserved);
  app.decorate('errorAnswer', (error, request) => errorAnswer(error, request, answering));
  if (app.server instanceof TlsServer) addHandshakes(app, app.server, options);
  limitConnections(
    app.server,
    { ...options.connections, trustedProxies },
    (reason) => metrics.connectionsRefused.inc({ listener: name, reason }),
    newRequestId,
    form,
  );
  disconnectSlowReaders(app.server, options.slowPeers?.unreadAnswerMs ?? UNREAD_ANSWER_MS);
  addAnswerHeaders(app, options);
  const { allowedOrigins = [] } = options;
  if (allowedOrigins.length > 0) admitOrigins(app, new Set(allowedOrigins));
  const noteResponse: DirectListener['noteResponse'] = ({ socket }, response) => {
    latestResponses.set(socket, response);
    if (response.socket === null) pipelining.queue(socket, response);
  };
  const tracing = createRequestTracing(app, options);
  addHooks(app, options, { tracing, noteResponse, methods });
  addDirect(app, options, {
    noteResponse,
    newRequestId,
    sample: (request) => tracing?.sample(request),
  });
  if (allowedOrigins.length > 0) answerPreflights(app);
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply, answering));
  app.setNotFoundHandler((request) => {
    throw notFound(name, request.originalUrl);
  });
  return app;
}

function errorFormOf({ name, errorForm, answerHeaders }: ListenerOptions): ErrorForm {
  const form = errorForm ?? (name === 'public' ? publicErrorForm : operatorErrorForm);
  if (answerHeaders === undefined) return form;
  // Errors that are written to the bare socket have no other headers.
  return (error, request) => {
    const answer = form(error, request);
    return { ...answer, headers: { ...answer.headers, ...answerHeaders } };
  };
}

function addDirect(
  app: FastifyInstance,
  options: ListenerOptions,
  start: Pick<DirectListener, 'noteResponse' | 'newRequestId' | 'sample'>,
): void {
  const { directRoute, allowedOrigins = [], answerHeaders, load, isStopping } = options;
  if (directRoute === undefined) return;
  if (allowedOrigins.length > 0 || answerHeaders !== undefined) return;
  const record: DirectListener['record'] = ({ requestId, route, startedMs, caller }) =>
    recordAnswer(options, { requestId, method: 'GET', route, status: 200, startedMs, caller });
  addDirectRoute(app.server, directRoute, { ...start, record, isStopping }, load.isOverloaded);
}

function addAnswerHeaders(app: FastifyInstance, { answerHeaders }: ListenerOptions): void {
  if (answerHeaders === undefined) return;
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(answerHeaders);
    done();
  });
}

type ServerEvents = Pick<FastifyHttpOptions<http.Server>, 'genReqId' | 'clientErrorHandler'>;

/** Over TLS node:https takes the options of node:http too. */
function createFastify(options: ListenerOptions, events: ServerEvents): FastifyInstance {
  const { http: httpOptions, ...common } = fastifyOptions(options);
  if (options.tls === null) return Fastify({ ...common, ...events, http: httpOptions });
  const handshakeTimeout = options.slowPeers?.requestMs ?? REQUEST_TIMEOUT_MS;
  const requestCert = options.tls.demandsClientCertificate;
  const https = { ...httpOptions, ...options.tls.context, handshakeTimeout, requestCert };
  // The same server to Fastify and to all operations, whose types know the plain one only.
  return Fastify({ ...common, ...events, https } as unknown as FastifyHttpOptions<http.Server>);
}

function addHandshakes(app: FastifyInstance, server: TlsServer, { name, log, metrics }: ListenerOptions): void {
  const endUnfinished = watchHandshakes(server, {
    listener: name,
    onFailed: (reason) => metrics.handshakesFailed.inc({ listener: name, reason }),
    log,
  });
  app.addHook('preClose', (done) => {
    endUnfinished();
    done();
  });
}

/** The response to the last request that the parser could read on a socket. */
type LatestResponses = WeakMap<Socket, http.ServerResponse>;

function fastifyOptions({ name, trustedProxies, slowPeers, rewritePath = (path) => path }: ListenerOptions) {
  const isPublic = name === 'public';
  const requestTimeout = slowPeers?.requestMs ?? REQUEST_TIMEOUT_MS;
  return {
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionTimeout: SILENT_TIMEOUT_MS,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    schemaController: WITHOUT_VALIDATION,
    // Identifiers may contain any characters, encoded: their own rules check them, not their length in the URL.
    routerOptions: { maxParamLength: HEADER_BYTES_MAX },
    http: {
      maxHeaderSize: HEADER_BYTES_MAX,
      // Node would answer outside the envelope: `checkHead` requires the header.
      requireHostHeader: false,
      headersTimeout: requestTimeout,
      connectionsCheckingInterval: CONNECTIONS_CHECKING_INTERVAL_MS,
      // A request without a body is not a stream that has to end: this saves a twentieth of a status check's cost.
      // Feeds are read as streams.
      optimizeEmptyRequests: isPublic,
    },
    // The router would reject a path with broken percent-encoding before it looks for a route, and so before the caller
    // is known. With its percent signs escaped the path finds its route; operations that decode it read `originalUrl`.
    rewriteUrl: ({ url = '/' }: http.IncomingMessage) => {
      const path = rewritePath(url);
      return isDecodable(path) ? path : path.replaceAll('%', '%25');
    },
  } as const;
}

interface RequestHooks {
  readonly tracing: RequestTracing | null;
  readonly noteResponse: DirectListener['noteResponse'];
  readonly methods: ServedMethods;
}

function addHooks(app: FastifyInstance, options: ListenerOptions, { tracing, noteResponse, methods }: RequestHooks) {
  const { name, load, isStopping } = options;
  app.decorateRequest('waitedMs', 0);
  app.decorateRequest('endOfProgress', null);
  const admission = createAdmission({ waitMaxMs: load.waitMaxMs, onRejected: load.noteRejection });

  app.addHook('onRequest', (request, reply, done) => {
    const { begun } = request.raw;
    request.startedMs = begun?.startedMs ?? performance.now();
    if (tracing !== null) tracing.begin(request);
    reply.header('x-request-id', request.id);
    if (begun === undefined) noteResponse(request.raw, reply.raw);
    // Node stops reading the connection after such a request.
    if (request.headers.upgrade !== undefined) reply.header('connection', 'close');
    // A client that was not told to send its body may still send it, or not: what follows the answer would be unclear.
    if (expectsContinue(request)) reply.header('connection', 'close');
    const error = checkHead(request, name, methods);
    // The route's own hooks, which set this, do not run then.
    if (error !== undefined && !request.is404) request.route = request.routeOptions.url ?? 'none';
    done(error);
  });

  // Fastify knows the pattern too, but assembles all that it knows about the route on each access.
  app.addHook('onRoute', function (route) {
    // Before its hooks are changed: they are added to the HEAD route as well.
    addHeadRoute(this, route);
    const isExempt = EXEMPT_FROM_SHEDDING.has(route.url);
    const begin: onRequestHookHandler = (request, _reply, done) => {
      request.route = route.url;
      // A request that a direct route began was counted and looked up before the overload: only its answer is left.
      const isNew = request.raw.begun === undefined;
      if (!isNew || isExempt) done();
      else if (load.isOverloaded()) done(overloaded());
      else admission.enter((isAdmitted) => done(isAdmitted ? undefined : overloaded()));
    };
    const mayHaveBody = route.method !== 'GET' && route.method !== 'HEAD';
    const bodyChecks = name === 'public' ? [ignoreMissingBody] : [];
    const last = mayHaveBody ? [...bodyChecks, rejectCutOff, sendContinue] : [];
    route.onRequest = [begin, ...[route.onRequest ?? []].flat(), ...last];
  });

  // Logged when the answer is handed over, not when its last byte has left: a client that has gone by then was answered
  // too.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (isStopping()) reply.header('connection', 'close');
    const { endOfProgress } = request;
    if (endOfProgress === null) record(request, reply.statusCode);
    else void endOfProgress.then(() => record(request, reply.statusCode));
    done(null, payload);
  });

  function record(request: FastifyRequest, status: number): void {
    // Before the log line, which has the IDs of the trace.
    if (tracing !== null) tracing.end(request, status);
    const { id: requestId, method, route, startedMs, caller, errorCode, logFields: fields, span } = request;
    recordAnswer(options, { requestId, method, route, status, startedMs, caller, errorCode, fields, span });
  }
}

/** A process that is busy must not look dead, and its metrics say why it is busy. */
const EXEMPT_FROM_SHEDDING: ReadonlySet<string> = new Set(['/livez', '/readyz', '/metrics']);
const OVERLOADED_RETRY_AFTER_MS = 1_000;

const overloaded = () =>
  unavailable(
    {
      en: 'too many requests for this process now. Repeat the request later',
      id: 'terlalu banyak permintaan untuk proses ini. Ulangi permintaan nanti',
    },
    OVERLOADED_RETRY_AFTER_MS,
  );

/** Unique over processes and restarts, without a call for random bytes for each request. */
function createRequestIds(): () => string {
  const prefix = randomBytes(9).toString('base64url');
  let count = 0;
  return () => `${prefix}-${(count += 1)}`;
}
