import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createMetricsCollection } from '../../apps/server/src/workers/metrics-collection.ts';
import type { WorkerProcess } from '../../apps/server/src/workers/worker-process.ts';
import { eventually } from '../support/eventually.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** A worker that has counted three. */
function countingWorker(): WorkerProcess {
  const snapshot = [
    { name: 'counted_total', help: 'A count.', type: 'counter', aggregator: 'sum', values: [{ value: 3, labels: {} }] },
  ] as const;
  const worker: Partial<WorkerProcess> = { process: 1, metrics: async () => snapshot, lastMetrics: () => snapshot };
  return worker as WorkerProcess;
}

test('what ended workers counted stays; the workers themselves are let go', async () => {
  const alive = new Set<WorkerProcess>();
  const collection = createMetricsCollection(() => [...alive]);
  const startAndEnd = (): WeakRef<WorkerProcess> => {
    const worker = countingWorker();
    alive.add(worker);
    alive.delete(worker);
    collection.onExit(worker);
    return new WeakRef(worker);
  };
  const ended = [startAndEnd(), startAndEnd()];
  await eventually('the workers that ended are not in memory', () => {
    collectGarbage();
    return ended.every((each) => each.deref() === undefined);
  });
  assert.match(await collection.render(), /^counted_total 6$/m);
});

test('a worker that ends while its metrics are read counts once', async () => {
  const worker = countingWorker();
  const alive = new Set([worker]);
  const collection = createMetricsCollection(() => [...alive]);
  const rendered = collection.render();
  alive.delete(worker);
  collection.onExit(worker);
  assert.match(await rendered, /^counted_total 3$/m);
});
