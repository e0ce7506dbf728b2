import type { IncomingMessage } from 'node:http';
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
  /** Null while tracing is off. */
  readonly tracing?: Tracing | null;
  readonly trustTraceparent?: boolean;
}

/**
 * Begins and ends the spans of requests. It is called by the hooks that each request has: hooks of its own would cost
 * the requests that are not sampled, which are nearly all, more than the decision does.
 */
export interface RequestTracing {
  /** Undefined where the request is not sampled. Must be called once for each request. */
  sample(request: IncomingMessage): Span | undefined;
  /** Samples the request, unless a direct route has done so. */
  begin(request: FastifyRequest): void;
  /** When the answer is handed over, as the access log has it: adds the IDs of the trace to its line. */
  end(request: FastifyRequest, status: number): void;
}

/** Null while tracing is off. */
export function createRequestTracing(
  app: FastifyInstance,
  { name, tracing = null, trustTraceparent = false }: RequestTracingOptions,
): RequestTracing | null {
  if (tracing === null) return null;
  const isOperator = name === 'operator';
  const isTrusted = isOperator || trustTraceparent;
  app.decorateRequest('span', undefined);
  const sample: RequestTracing['sample'] = (request) => tracing.beginRequest(request, isTrusted);
  return {
    sample,
    begin(request) {
      if (isOperator && UNTRACED.has(request.url)) return;
      const { begun } = request.raw;
      const span = begun === undefined ? sample(request.raw) : begun.span;
      if (span !== undefined) request.span = span;
    },
    end(request, status) {
      if (request.span !== undefined) endSpan(request.span, request, status, name);
    },
  };
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
