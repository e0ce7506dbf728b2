import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { createRequestMetrics, type RequestMetrics } from './request-metrics.ts';

/** Everything that Tiba counts. Names follow Prometheus' conventions: base units, `_total` for counters. */
export interface Metrics {
  readonly answered: RequestMetrics['answered'];
  readonly lookUpBatchSize: Histogram;
  readonly inquiries: Counter<'rail' | 'outcome'>;
  readonly inquiriesShared: Counter;
  readonly inquiryDuration: Histogram<'rail'>;
  readonly feedLines: Counter<'outcome'>;
  readonly authenticationFailures: Counter<'outcome'>;
  readonly ready: Gauge;
  /** The Prometheus text format. */
  render(): Promise<string>;
  readonly contentType: string;
}

const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = createRequestMetrics();

  return {
    answered: requests.answered,
    lookUpBatchSize: new Histogram({
      name: 'tiba_look_up_batch_size',
      help: 'Status look-ups that went to PostgreSQL as one query.',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
      registers,
    }),
    inquiries: new Counter({
      name: 'tiba_inquiries_total',
      help: 'Questions sent to a rail, by what came of them.',
      labelNames: ['rail', 'outcome'],
      registers,
    }),
    inquiriesShared: new Counter({
      name: 'tiba_inquiries_shared_total',
      help: 'Account checks answered by an inquiry that was already under way.',
      registers,
    }),
    inquiryDuration: new Histogram({
      name: 'tiba_inquiry_duration_seconds',
      help: 'Time a rail took to answer.',
      labelNames: ['rail'],
      buckets: DURATION_BUCKETS_SECONDS,
      registers,
    }),
    feedLines: new Counter({
      name: 'tiba_feed_lines_total',
      help: 'Words of the feed, by what came of them.',
      labelNames: ['outcome'],
      registers,
    }),
    authenticationFailures: new Counter({
      name: 'tiba_authentication_failures_total',
      help: 'Requests turned away before their operation began.',
      labelNames: ['outcome'],
      registers,
    }),
    ready: new Gauge({ name: 'tiba_ready', help: '1 while the service can answer, as /readyz last found.', registers }),
    render: async () => (await registry.metrics()) + requests.render(),
    contentType: registry.contentType,
  };
}
