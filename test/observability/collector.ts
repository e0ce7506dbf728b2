import { eventually } from '../support/eventually.ts';
import { type HttpReceiver, respondWith, startHttpReceiver } from '../support/http-receiver.ts';

export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined for the first span of a trace. */
  readonly parentSpanId: string | undefined;
  /** OTLP: 1 internal, 2 server, 3 client, 4 producer. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** Why it failed. */
  readonly failure: string | undefined;
}

/** A receiver of OTLP over HTTP, as JSON. */
export interface TestCollector extends HttpReceiver {
  spans(): ReceivedSpan[];
  /** Resolves with the first span that the condition accepts, once it has arrived. */
  untilSpan(what: string, accepts: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
  /** The attributes of the process that sent the first batch. */
  resource(): Readonly<Record<string, unknown>>;
}

export async function startCollector(): Promise<TestCollector> {
  const receiver = await startHttpReceiver({ respond: respondWith(200, '{}') });
  const resourceSpans = () => receiver.requests.flatMap(({ body }) => (JSON.parse(body) as OtlpRequest).resourceSpans);
  const spans = (): ReceivedSpan[] =>
    resourceSpans()
      .flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
      .map(readSpan);
  return Object.assign(receiver, {
    spans,
    async untilSpan(what: string, accepts: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
      let found: ReceivedSpan | undefined;
      await eventually(`the span of ${what} arrives`, () => (found = spans().find(accepts)) !== undefined);
      return found as unknown as ReceivedSpan;
    },
    resource: () => attributesOf(resourceSpans()[0]?.resource.attributes ?? []),
  });
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface OtlpSpan extends Omit<ReceivedSpan, 'attributes' | 'links' | 'failure'> {
  readonly attributes: readonly OtlpAttribute[];
  readonly links?: ReceivedSpan['links'];
  readonly status: { readonly message?: string };
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

const readSpan = ({ attributes, links = [], status, ...span }: OtlpSpan): ReceivedSpan => ({
  ...span,
  attributes: attributesOf(attributes),
  links,
  failure: status.message,
});

const attributesOf = (attributes: readonly OtlpAttribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
