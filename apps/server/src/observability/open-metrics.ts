/** The media type, without its parameters. */
export const OPEN_METRICS = 'application/openmetrics-text';
export const OPEN_METRICS_CONTENT_TYPE = `${OPEN_METRICS}; version=1.0.0; charset=utf-8`;

/** A recent observation of a bucket and the trace that it belongs to. */
export interface Exemplar {
  readonly traceId: string;
  readonly spanId: string;
  /** Seconds. */
  readonly value: number;
  /** Seconds since 1970. */
  readonly observedAt: number;
}

/**
 * Metrics of the Prometheus text format as OpenMetrics 1.0, with exemplars by the sample that they belong to: its name
 * and labels, as the text has them. Labels stay as they are, so that series do not change with the format.
 */
export function toOpenMetrics(text: string, exemplars: ReadonlyMap<string, Exemplar>): string {
  const lines = text.split('\n').filter((line) => line !== '');
  const counters = new Set(lines.flatMap((line) => /^# TYPE (\w+) counter$/.exec(line)?.[1] ?? []));
  const converted = lines.map((line) => {
    if (line.startsWith('#')) return familyLine(line, counters);
    const exemplar = exemplars.get(line.slice(0, line.lastIndexOf(' ')));
    return exemplar === undefined ? line : line + exemplarText(exemplar);
  });
  return `${converted.join('\n')}\n# EOF\n`;
}

/** OpenMetrics 1.0, "Counter": the name of the family has no `_total`, the sample's name has. */
function familyLine(line: string, counters: ReadonlySet<string>): string {
  const [, kind, name = '', rest] = /^# (HELP|TYPE) (\w+) (.*)$/.exec(line) ?? [];
  return counters.has(name) ? `# ${kind} ${name.replace(/_total$/, '')} ${rest}` : line;
}

const exemplarText = ({ traceId, spanId, value, observedAt }: Exemplar): string =>
  ` # {trace_id="${traceId}",span_id="${spanId}"} ${value} ${observedAt}`;
