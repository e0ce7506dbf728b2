import type { IncomingMessage } from 'node:http';
import { keyOf } from '../../domain/identifiers.ts';

/** What is known about a step. Never an account number, a name or an amount: traces leave this system. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** As OpenTelemetry has them: an incoming request, an outgoing one, a message that is sent, work in this process. */
export type SpanKind = 'server' | 'client' | 'producer' | 'internal';

/**
 * One step of a sampled trace. Whatever is in no sampled trace has no span: its code takes `Span | undefined`, and
 * costs one comparison.
 */
export interface Span {
  /** 32 hexadecimal digits, as W3C Trace Context has them. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Begins a step within this one. It may end later than this one. */
  begin(name: string, kind: SpanKind, attributes?: SpanAttributes): Span;
  rename(name: string): void;
  note(attributes: SpanAttributes): void;
  /** Ends the step. `failure` says why it failed; absent when it did not. */
  end(attributes?: SpanAttributes, failure?: string): void;
}

/** It is passed as a whole: of a request that is not sampled, nothing is read. */
export type TracedRequest = Pick<IncomingMessage, 'method' | 'headers'>;

/** Traces of what this process does. There is none while tracing is off. */
export interface Tracing {
  /** Begins a trace of its own. Undefined: it is not sampled, which is decided before anything is made. */
  begin(name: string, kind: SpanKind, attributes?: SpanAttributes, cause?: SpanReference): Span | undefined;
  /**
   * Begins the span of a request. The trace of a trusted caller goes on. Any other request begins a trace that links
   * to the caller's, and is sampled as if the caller had none: a stranger must not decide what is sampled.
   */
  beginRequest(request: TracedRequest, isTrusted: boolean): Span | undefined;
  /** Continues a span that may have ended, also where only its IDs are left. */
  beginWithin(parent: SpanReference, name: string, kind: SpanKind, attributes?: SpanAttributes): Span;
  readonly causes: Causes;
}

/** The IDs of a span, by which another can refer to it. */
export type SpanReference = Pick<Span, 'traceId' | 'spanId'>;

/** Fields for a log line. */
export const traceFields = (span: SpanReference | undefined): Readonly<Record<string, string>> =>
  span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };

/** The header `traceparent` (W3C Trace Context, 3.2). Only sampled spans exist, so the flag is always set. */
export const traceparentOf = ({ traceId, spanId }: SpanReference): string => `00-${traceId}-${spanId}-01`;

/**
 * What has caused the latest changes of transactions and bulk validations, so that their callbacks become part of its
 * trace. In memory, in this process: a callback that another process sends, or that is due much later, has a trace of
 * its own.
 */
export interface Causes {
  remember(clientId: string, subjectId: string, cause: SpanReference): void;
  find(clientId: string, subjectId: string): SpanReference | undefined;
}

/** Two updates of a feed's size: some hundred kilobytes. */
const CAUSES_MAX = 1_000;

export function createCauses(): Causes {
  const causes = new Map<string, SpanReference>();
  return {
    remember(clientId, subjectId, { traceId, spanId }) {
      const key = keyOf(clientId, subjectId);
      // Deleted and set again, it is the last in the map's order, so the first is the oldest.
      causes.delete(key);
      causes.set(key, { traceId, spanId });
      if (causes.size <= CAUSES_MAX) return;
      const [oldest] = causes.keys();
      if (oldest !== undefined) causes.delete(oldest);
    },
    find: (clientId, subjectId) => causes.get(keyOf(clientId, subjectId)),
  };
}
