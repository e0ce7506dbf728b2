/** Counts and durations of one kind of event, by subject (such as the route) and outcome (such as the status). */
export interface Outcomes {
  record(subject: string, outcome: string | number, durationMs: number): void;
  /** The Prometheus text format. */
  render(): string;
}

export interface OutcomesOptions {
  readonly counter: Metric;
  readonly histogram: Metric;
  /** The names of the two labels. Both must have few values, and never a value that a caller chose. */
  readonly subject: string;
  readonly outcome: string;
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
  sumMs: number;
}

/**
 * Counts events that happen at every request, so it uses plain arrays: a general histogram looks up its labels and
 * buckets each time and costs several times as much. Less frequent events use prom-client (metrics.ts).
 */
export function createOutcomes({ counter, histogram, subject, outcome }: OutcomesOptions): Outcomes {
  const subjects = new Map<string, Counts>();

  function begin(name: string): Counts {
    const counts = { outcomes: new Map<string, number>(), buckets: new Float64Array(BUCKETS_MS.length + 1), sumMs: 0 };
    subjects.set(name, counts);
    return counts;
  }

  return {
    record(name, what, durationMs) {
      const counts = subjects.get(name) ?? begin(name);
      counts.outcomes.set(what, (counts.outcomes.get(what) ?? 0) + 1);
      counts.sumMs += durationMs;
      let bucket = 0;
      while (bucket < BUCKETS_MS.length && durationMs > (BUCKETS_MS[bucket] as number)) bucket += 1;
      counts.buckets[bucket] = (counts.buckets[bucket] as number) + 1;
    },
    render() {
      const totals = describe(counter, 'counter');
      const durations = describe(histogram, 'histogram');
      for (const [name, counts] of subjects) {
        const label = `${subject}="${name.replaceAll(/["\\\n]/g, '\\$&')}"`;
        for (const [what, count] of counts.outcomes) {
          totals.push(`${counter.name}{${label},${outcome}="${what}"} ${count}`);
        }
        let total = 0;
        for (const [bucket, count] of counts.buckets.entries()) {
          total += count;
          durations.push(`${histogram.name}_bucket{${label},le="${BUCKETS_SECONDS[bucket] ?? '+Inf'}"} ${total}`);
        }
        durations.push(
          `${histogram.name}_sum{${label}} ${counts.sumMs / 1000}`,
          `${histogram.name}_count{${label}} ${total}`,
        );
      }
      return `${[...totals, ...durations].join('\n')}\n`;
    },
  };
}

const describe = ({ name, help }: Metric, type: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];
