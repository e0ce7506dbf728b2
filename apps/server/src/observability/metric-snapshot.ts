/** A metric and its values, as prom-client's `getMetricsAsJSON` has them: can be sent to another process. */
export interface MetricSnapshot {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  /** How the values of several processes become one. */
  readonly aggregator: string;
  readonly values: readonly MetricValue[];
}

export interface MetricValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  /** Of a histogram's bucket, sum and count. */
  readonly metricName?: string;
}
