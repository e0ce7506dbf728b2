import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';

/** Each process has its own; without an `aggregator`, prom-client adds up a gauge over all processes. */
const SUMMED = ['tiba_audit_records_pending', 'tiba_database_connections', 'tiba_database_queries_waiting'];

test('a gauge is added up over the processes of a machine only where each process has its own share', async () => {
  const gauges = (await createMetrics().snapshot()).filter(
    ({ name, type }) => type === 'gauge' && name.startsWith('tiba_'),
  );
  assert.ok(gauges.length > SUMMED.length);
  const summed = gauges.filter(({ aggregator }) => aggregator === 'sum').map(({ name }) => name);
  assert.deepEqual(summed.toSorted(), SUMMED);
});
