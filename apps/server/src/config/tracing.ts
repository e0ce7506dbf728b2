import { httpUrl, list, oneOf, setting, text, withDefault, yesOrNo } from './values.ts';

/** A number from 0 to 1, such as `0.01`. */
function fraction(value: string): number {
  const number = /^\d*\.?\d+(?:e-?\d{1,2})?$/i.test(value) ? Number(value) : Number.NaN;
  if (number >= 0 && number <= 1) return number;
  throw new Error('a number from 0 to 1');
}

/** OpenTelemetry's names, without those that need more than a number. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Without the text, which may be a secret. */
const KEY_VALUE_LIST = 'pairs of the form name=value, separated by commas, values percent-encoded';

/** `name=value` pairs, separated by commas; the values are percent-encoded (the form of W3C Baggage). */
function keyValueList(value: string): Readonly<Record<string, string>> {
  const pairs = list(value).map((entry): [string, string] => {
    const [, name, encoded] = /^([\w.*/-]+)\s*=\s*([^,]*)$/.exec(entry) ?? [];
    if (name === undefined || encoded === undefined) throw new Error(KEY_VALUE_LIST);
    try {
      return [name, decodeURIComponent(encoded)];
    } catch {
      throw new Error(KEY_VALUE_LIST);
    }
  });
  return Object.fromEntries(pairs);
}

/** The same, for HTTP headers (RFC 9110, section 5.5). */
function headerList(value: string): Readonly<Record<string, string>> {
  const headers = keyValueList(value);
  const isHeader = ([name, text]: [string, string]): boolean => /^[\w.-]+$/.test(name) && /^[\x20-\x7e]*$/.test(text);
  if (Object.entries(headers).every(isHeader)) return headers;
  throw new Error(`${KEY_VALUE_LIST}, and printable ASCII`);
}

/** The standard settings of OpenTelemetry, as far as Tiba has what they set. */
export const TRACING_SETTINGS = {
  otlpEndpoint: setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    httpUrl,
    'URL of an OpenTelemetry collector, such as `http://127.0.0.1:4318`, to which ' +
      '[traces](operating.md#traces) are sent (`/v1/traces` is appended). Not set: there are none.',
  ),
  otlpHeaders: setting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    headerList,
    'Headers for the collector: `name=value` pairs separated by commas, values percent-encoded.',
    { secret: true },
  ),
  otlpProtocol: withDefault(
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'http/json',
    oneOf('http/json'),
    'The protocol to the collector. Tiba has this one only; collectors accept it on the port of `http/protobuf`.',
  ),
  otelDisabled: withDefault(
    'OTEL_SDK_DISABLED',
    'false',
    yesOrNo,
    'Whether tracing is off although a collector is set.',
  ),
  otelServiceName: withDefault('OTEL_SERVICE_NAME', 'tiba', text, 'The name of this service in traces.'),
  otelResourceAttributes: withDefault(
    'OTEL_RESOURCE_ATTRIBUTES',
    '',
    keyValueList,
    'Attributes of this process in traces: `name=value` pairs separated by commas, such as ' +
      '`deployment.environment.name=production`.',
  ),
  otelSampler: withDefault(
    'OTEL_TRACES_SAMPLER',
    'parentbased_always_on',
    oneOf(...SAMPLERS),
    `Which traces are recorded: ${SAMPLERS.map((name) => `\`${name}\``).join(', ')}.`,
  ),
  otelSamplerArg: withDefault(
    'OTEL_TRACES_SAMPLER_ARG',
    '1',
    fraction,
    'The share of traces that a sampler with `traceidratio` records, from 0 to 1.',
  ),
  trustTraceparent: withDefault(
    'TIBA_TRUST_TRACEPARENT',
    'no',
    yesOrNo,
    'Whether the header `traceparent` of requests to the public and the SNAP listener is from your own gateway: ' +
      "their traces then go on. With no, such a request begins a trace that links to the client's.",
  ),
} as const;
