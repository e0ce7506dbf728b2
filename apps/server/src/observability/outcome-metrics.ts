import type { MetricSnapshot, MetricValue } from './metric-snapshot.ts';
import type { Exemplar } from './open-metrics.ts';
import type { SpanReference } from './tracing/tracing.ts';

/** Counts and durations of one kind of event, by subject (such as the route) and outcome (such as the status). */
export interface Outcomes {
  /** A `span` becomes the example of the bucket that the duration falls into. */
  record(subject: string, outcome: string | number, durationMs: number, span?: SpanReference): void;
  /** By the sample of the bucket, as the text format has it. */
  exemplars(): [sample: string, exemplar: Exemplar][];
  /** The Prometheus text format. */
  render(): string;
  /** The counter and the histogram. */
  snapshot(): MetricSnapshot[];
}

export interface OutcomesOptions {
  readonly counter: Metric;
  readonly histogram: Metric;
  /** The names of the two labels. Both must have few values, and never a value that a caller chose. */
  readonly subject: string;
  readonly outcome: string;
  /**
   * An outcome that each subject has from its first event on, with 0: Prometheus sees no increase in a series that
   * begins with 1, so an alert would miss the first one.
   */
  readonly countedFromZero?: number;
}

interface Metric {
  readonly name: string;
  readonly help: string;
}

/** Upper bounds; the last bucket takes the rest. */
const BUCKETS_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
] as const;
const BUCKETS_MS = BUCKETS_SECONDS.map((seconds) => seconds * 1000);

interface Counts {
  readonly outcomes: Map<string | number, number>;
  readonly buckets: Float64Array;
  /** By the index of their bucket. */
  readonly exemplars: Map<number, Exemplar>;
  sumMs: number;
}

/**
 * Counts events that happen at every request, so it uses plain arrays: a general histogram looks up its labels and
 * buckets each time and costs several times as much. Less frequent events use prom-client (metrics.ts).
 */
export function createOutcomes(options: OutcomesOptions): Outcomes {
  const subjects = new Map<string, Counts>();

  function begin(name: string): Counts {
    const counts: Counts = {
      outcomes: new Map(options.countedFromZero === undefined ? [] : [[options.countedFromZero, 0]]),
      buckets: new Float64Array(BUCKETS_MS.length + 1),
      exemplars: new Map(),
      sumMs: 0,
    };
    subjects.set(name, counts);
    return counts;
  }

  function sampleOf(name: string, bucket: number): string {
    const labels = { [options.subject]: name, le: BUCKETS_SECONDS[bucket] ?? '+Inf' };
    return `${options.histogram.name}_bucket{${renderLabels(labels)}}`;
  }

  return {
    record(name, what, durationMs, span) {
      const counts = subjects.get(name) ?? begin(name);
      counts.outcomes.set(what, (counts.outcomes.get(what) ?? 0) + 1);
      counts.sumMs += durationMs;
      let bucket = 0;
      while (bucket < BUCKETS_MS.length && durationMs > (BUCKETS_MS[bucket] as number)) bucket += 1;
      counts.buckets[bucket] = (counts.buckets[bucket] as number) + 1;
      if (span === undefined) return;
      const { traceId, spanId } = span;
      counts.exemplars.set(bucket, { traceId, spanId, value: durationMs / 1000, observedAt: Date.now() / 1000 });
    },
    exemplars: () =>
      [...subjects].flatMap(([name, counts]) =>
        Array.from(counts.exemplars, ([bucket, exemplar]): [string, Exemplar] => [sampleOf(name, bucket), exemplar]),
      ),
    render: () => snapshotOf(subjects, options).map(renderMetric).join(''),
    snapshot: () => snapshotOf(subjects, options),
  };
}

function snapshotOf(
  subjects: ReadonlyMap<string, Counts>,
  { counter, histogram, subject, outcome }: OutcomesOptions,
): MetricSnapshot[] {
  const totals: MetricValue[] = [];
  const durations: MetricValue[] = [];
  for (const [name, counts] of subjects) {
    const labels = { [subject]: name };
    for (const [what, value] of counts.outcomes) totals.push({ labels: { ...labels, [outcome]: what }, value });
    let total = 0;
    for (const [bucket, count] of counts.buckets.entries()) {
      total += count;
      const le = BUCKETS_SECONDS[bucket] ?? '+Inf';
      durations.push({ metricName: `${histogram.name}_bucket`, labels: { ...labels, le }, value: total });
    }
    durations.push(
      { metricName: `${histogram.name}_sum`, labels, value: counts.sumMs / 1000 },
      { metricName: `${histogram.name}_count`, labels, value: total },
    );
  }
  return [
    { ...counter, type: 'counter', aggregator: 'sum', values: totals },
    { ...histogram, type: 'histogram', aggregator: 'sum', values: durations },
  ];
}

function renderMetric({ name, help, type, values }: MetricSnapshot): string {
  const lines = values.map(({ metricName = name, labels, value }) => `${metricName}{${renderLabels(labels)}} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
}

const renderLabels = (labels: MetricValue['labels']): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${String(value).replaceAll(/["\\\n]/g, '\\$&')}"`)
    .join(',');
