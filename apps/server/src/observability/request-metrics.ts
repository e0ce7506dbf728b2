/** Counts and durations of answered requests, by route and status. */
export interface RequestMetrics {
  /** `route` is the route's pattern, never what was asked for. */
  answered(route: string, status: number, durationMs: number): void;
  /** The Prometheus text format. */
  render(): string;
}

/** Upper bounds; the last bucket takes the rest. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;
const BUCKETS_MS = BUCKETS_SECONDS.map((seconds) => seconds * 1000);

interface RouteCounts {
  /** By HTTP status. */
  readonly answers: Map<number, number>;
  readonly buckets: Float64Array;
  sumMs: number;
}

/**
 * Every request is counted here, so it is done with plain arrays: a general histogram, which finds its labels and buckets
 * anew each time, costs the hot path several times as much. What is counted less often uses prom-client (metrics.ts).
 */
export function createRequestMetrics(): RequestMetrics {
  const routes = new Map<string, RouteCounts>();

  function begin(route: string): RouteCounts {
    const counts = { answers: new Map<number, number>(), buckets: new Float64Array(BUCKETS_MS.length + 1), sumMs: 0 };
    routes.set(route, counts);
    return counts;
  }

  return {
    answered(route, status, durationMs) {
      const counts = routes.get(route) ?? begin(route);
      counts.answers.set(status, (counts.answers.get(status) ?? 0) + 1);
      counts.sumMs += durationMs;
      let bucket = 0;
      while (bucket < BUCKETS_MS.length && durationMs > (BUCKETS_MS[bucket] as number)) bucket += 1;
      counts.buckets[bucket] = (counts.buckets[bucket] as number) + 1;
    },
    render() {
      const requests = metric(REQUESTS, 'counter', 'Requests answered, by route and HTTP status.');
      const durations = metric(DURATIONS, 'histogram', 'Time from the request head to the answer.');
      for (const [route, counts] of routes) {
        const label = `route="${route.replaceAll(/["\\\n]/g, '\\$&')}"`;
        for (const [status, count] of counts.answers)
          requests.push(`${REQUESTS}{${label},status="${status}"} ${count}`);
        let total = 0;
        for (const [bucket, count] of counts.buckets.entries()) {
          total += count;
          durations.push(`${DURATIONS}_bucket{${label},le="${BUCKETS_SECONDS[bucket] ?? '+Inf'}"} ${total}`);
        }
        durations.push(`${DURATIONS}_sum{${label}} ${counts.sumMs / 1000}`, `${DURATIONS}_count{${label}} ${total}`);
      }
      return `${[...requests, ...durations].join('\n')}\n`;
    },
  };
}

const REQUESTS = 'tiba_http_requests_total';
const DURATIONS = 'tiba_http_request_duration_seconds';

const metric = (name: string, type: string, help: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];
