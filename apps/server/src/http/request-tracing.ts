import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Span, type Tracing, traceFields } from '../observability/tracing/tracing.ts';
import type { ListenerName } from './request-checks.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined where the request is not traced, as most are not. */
    span: Span | undefined;
  }
}

/** What monitors ask every few seconds would hide what clients ask. */
const UNTRACED: ReadonlySet<string> = new Set(['/livez', '/readyz', '/metrics']);

export interface RequestTracingOptions {
  readonly name: ListenerName;
  readonly trustTraceparent?: boolean;
}

/** Begins and ends the spans of requests, and adds their IDs to the access log. Called only while tracing is on. */
export function traceRequests(
  app: FastifyInstance,
  tracing: Tracing,
  { name, trustTraceparent = false }: RequestTracingOptions,
): void {
  const isOperator = name === 'operator';
  const isTrusted = isOperator || trustTraceparent;
  app.decorateRequest('span', undefined);

  app.addHook('onRequest', (request, _reply, done) => {
    if (!isOperator || !UNTRACED.has(request.url))
      request.span = tracing.beginRequest(request.method, request.headers, isTrusted);
    done();
  });

  // When the answer is handed over, as the access log has it.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.span !== undefined) endSpan(request.span, request, reply.statusCode, name);
    done(null, payload);
  });
}

/** The names are OpenTelemetry's semantic conventions for HTTP. The URL is left out: it can contain IDs. */
function endSpan(span: Span, request: FastifyRequest, status: number, listener: ListenerName): void {
  const { method, route, caller, errorCode } = request;
  span.rename(`${method} ${route}`);
  const attributes = {
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': status,
    'tiba.listener': listener,
    'tiba.request_id': request.id,
    ...(caller === null ? {} : { 'tiba.client_id': caller.client.clientId }),
    ...(errorCode === null ? {} : { 'error.type': errorCode }),
  };
  span.end(attributes, status >= 500 ? (errorCode ?? String(status)) : undefined);
  request.logFields = { ...request.logFields, ...traceFields(span) };
}
