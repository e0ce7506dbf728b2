import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import {
  type Context,
  defaultTextMapGetter,
  type Span as OtelSpan,
  SpanKind as OtelSpanKind,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Counter } from 'prom-client';
import program from '../../../../../package.json' with { type: 'json' };
import type { Log } from '../log.ts';
import { connectToCollector } from './collector.ts';
import { createSampler, type Sampling } from './sampling.ts';
import { createSpanQueue, type SpanQueue } from './span-queue.ts';
import {
  createCauses,
  type Span,
  type SpanAttributes,
  type SpanKind,
  type SpanReference,
  type Tracing,
} from './tracing.ts';

export interface OpenTelemetryOptions {
  /** Where the collector takes spans: `…/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Attributes of this process, with `service.name`. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampling: Sampling;
  readonly spans: Counter<'outcome'>;
  readonly log: Log;
}

/** Loaded only while tracing is on. */
export function startOpenTelemetry(options: OpenTelemetryOptions): { tracing: Tracing; close: () => Promise<void> } {
  const { log, spans } = options;
  const collector = connectToCollector(options.url, options.headers);
  const queue = createSpanQueue<ReadableSpan>({
    send: collector.send,
    count: (outcome, count) => spans.inc({ outcome }, count),
    onChange(reason) {
      if (reason === null) log.info('the collector takes traces again');
      else log.warn({ reason }, 'sending traces to the collector failed; will retry, and drop what does not fit');
    },
  });
  const tracer = createTracer(options, queue);
  return {
    tracing: createTracing(tracer, options.sampling),
    async close() {
      await queue.close();
      await collector.close();
    },
  };
}

/** Banks choose some of the values: a code of theirs is no longer than this. */
const ATTRIBUTE_LENGTH_MAX = 256;

function createTracer({ resource }: OpenTelemetryOptions, queue: SpanQueue<ReadableSpan>): Tracer {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      ...resource,
      'service.version': program.version,
      'service.instance.id': randomUUID(),
      'process.pid': process.pid,
    }),
    // Whether a trace is sampled was decided before its first span is made.
    sampler: new AlwaysOnSampler(),
    spanLimits: { attributeValueLengthLimit: ATTRIBUTE_LENGTH_MAX },
    spanProcessors: [
      {
        onStart() {},
        onEnd: (span) => queue.add(span),
        forceFlush: () => Promise.resolve(),
        shutdown: () => Promise.resolve(),
      },
    ],
  });
  return provider.getTracer(program.name, program.version);
}

const KINDS: Readonly<Record<SpanKind, OtelSpanKind>> = {
  server: OtelSpanKind.SERVER,
  client: OtelSpanKind.CLIENT,
  producer: OtelSpanKind.PRODUCER,
  internal: OtelSpanKind.INTERNAL,
};

function createTracing(tracer: Tracer, sampling: Sampling): Tracing {
  const isSampled = createSampler(sampling, Math.random);
  const propagator = new W3CTraceContextPropagator();

  /** Undefined for a header that is missing or malformed. */
  function readParent(headers: IncomingHttpHeaders): SpanContext | undefined {
    if (headers['traceparent'] === undefined) return undefined;
    return trace.getSpanContext(propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter));
  }

  function begin(
    name: string,
    context: Context,
    options: { readonly kind: SpanKind; readonly attributes?: SpanAttributes; readonly link?: SpanContext | undefined },
  ): Span {
    const { kind, attributes = {}, link } = options;
    const links = link === undefined ? [] : [{ context: link }];
    return wrap(tracer.startSpan(name, { kind: KINDS[kind], attributes: { ...attributes }, links }, context));
  }

  function wrap(span: OtelSpan): Span {
    const { traceId, spanId } = span.spanContext();
    return {
      traceId,
      spanId,
      begin: (name, kind, attributes) => begin(name, trace.setSpan(ROOT_CONTEXT, span), { kind, ...given(attributes) }),
      rename: (name) => void span.updateName(name),
      note: (attributes) => void span.setAttributes({ ...attributes }),
      end(attributes, failure) {
        if (attributes !== undefined) span.setAttributes({ ...attributes });
        if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
        span.end();
      },
    };
  }

  return {
    begin: (name, kind, attributes, cause) =>
      isSampled(undefined)
        ? begin(name, ROOT_CONTEXT, { kind, ...given(attributes), link: cause && contextOf(cause) })
        : undefined,
    beginWithin: (parent, name, kind, attributes) =>
      begin(name, trace.setSpanContext(ROOT_CONTEXT, contextOf(parent)), { kind, ...given(attributes) }),
    beginRequest(request, isTrusted) {
      // Whether it is sampled comes first: nearly no request is, and a stranger's header is not even read then.
      if (!isTrusted && !isSampled(undefined)) return undefined;
      const parent = readParent(request.headers);
      const name = request.method ?? '';
      if (!isTrusted) return begin(name, ROOT_CONTEXT, { kind: 'server', link: parent });
      if (parent === undefined) return isSampled(undefined) ? begin(name, ROOT_CONTEXT, { kind: 'server' }) : undefined;
      const { traceId, traceFlags } = parent;
      if (!isSampled({ traceId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 })) return undefined;
      return begin(name, trace.setSpanContext(ROOT_CONTEXT, parent), { kind: 'server' });
    },
    causes: createCauses(),
  };
}

const contextOf = ({ traceId, spanId }: SpanReference): SpanContext => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
});

const given = (attributes: SpanAttributes | undefined) => (attributes === undefined ? {} : { attributes });
