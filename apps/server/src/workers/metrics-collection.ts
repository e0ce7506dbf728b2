import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import type { MetricSnapshot } from '../observability/metric-snapshot.ts';
import type { WorkerProcess } from './worker-process.ts';

/** The metrics of all workers, and of their parent, as those of one program. */
export interface MetricsCollection {
  /** The Prometheus text format. */
  render(): Promise<string>;
  /** Keeps what a worker has counted: a total must not fall when a worker ends. */
  onExit(worker: WorkerProcess): void;
}

/** A worker that does not answer in time is there with its last metrics. */
const TIMEOUT_MS = 1_000;
/** In the label `process`, and in the log. */
export const PARENT_PROCESS = 0;

/** `workers`: those that live. One that has ended is not among them when `onExit` is called. */
export function createMetricsCollection(workers: () => readonly WorkerProcess[]): MetricsCollection {
  const own = new Registry();
  collectDefaultMetrics({ register: own });
  /** Of the workers that have ended. */
  let ended: readonly MetricSnapshot[] = [];
  return {
    async render() {
      const received = await Promise.all(
        workers().map(async (worker) => ({ worker, metrics: await worker.metrics(TIMEOUT_MS) })),
      );
      const parent = (await own.getMetricsAsJSON()) as unknown as MetricSnapshot[];
      // What a worker that has ended meanwhile counted is in `ended`.
      const snapshots = received
        .filter(({ worker }) => workers().includes(worker))
        .map(({ worker, metrics }) => labelled(metrics, worker.process));
      return AggregatorRegistry.aggregate([...snapshots, labelled(parent, PARENT_PROCESS), [...ended]]).metrics();
    },
    onExit(worker) {
      const totals = worker.lastMetrics().filter((metric) => !isOfProcess(metric) && metric.type !== 'gauge');
      const merged = AggregatorRegistry.aggregate([[...ended], totals]);
      ended = merged.getMetricsAsArray() as unknown as MetricSnapshot[];
    },
  };
}

/** What prom-client measures by itself, such as memory and the event loop: a sum would say nothing about a process. */
const isOfProcess = ({ name }: MetricSnapshot): boolean => name.startsWith('process_') || name.startsWith('nodejs_');

const labelled = (metrics: readonly MetricSnapshot[], process: number): MetricSnapshot[] =>
  metrics.map((metric) =>
    isOfProcess(metric)
      ? {
          ...metric,
          aggregator: 'first',
          values: metric.values.map((each) => ({
            ...each,
            // JSON has no NaN.
            value: each.value ?? Number.NaN,
            labels: { ...each.labels, process },
          })),
        }
      : metric,
  );
