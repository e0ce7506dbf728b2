import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { toOpenMetrics } from '../../apps/server/src/observability/open-metrics.ts';
import { commandIsMissing } from '../support/required-command.ts';

const SPAN = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const BUCKET = 'tiba_http_request_duration_seconds_bucket';

/** What Prometheus' own parser of OpenMetrics says. It reads samples with times only, so each gets one. */
function faultsOf(text: string): string {
  const stamped = text.replaceAll(/^(\w.*?) (\S+)( # \{.*)?$/gm, '$1 $2 1700000000$3');
  const directory = mkdtempSync(path.join(tmpdir(), 'tiba-open-metrics-'));
  try {
    const file = path.join(directory, 'metrics.txt');
    writeFileSync(file, stamped);
    const args = ['tsdb', 'create-blocks-from', 'openmetrics', file, path.join(directory, 'blocks')];
    const { status, stderr } = spawnSync('promtool', args);
    return status === 0 ? '' : stderr.toString();
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function exampleMetrics() {
  const metrics = createMetrics();
  metrics.requests.record('/a "quoted"\\ route', 200, 0.4, SPAN);
  metrics.requests.record('/a "quoted"\\ route', 200, 0.4);
  metrics.requests.record('/untraced', 200, 0.4);
  metrics.inquiries.record('bca', 'timeout', 9_000, SPAN);
  const text = await metrics.render();
  return { text, converted: toOpenMetrics(text, metrics.exemplars()) };
}

test('OpenMetrics has every sample of the text format, and exemplars on the buckets of traced durations', async () => {
  const { text, converted } = await exampleMetrics();
  const samples = (of: string): number => of.split('\n').filter((line) => /^\w/.test(line)).length;
  assert.equal(samples(converted), samples(text));
  assert.match(converted, /^# TYPE tiba_http_requests counter\ntiba_http_requests_total\{/m);
  const exemplars = converted.split('\n').filter((line) => line.includes(' # {'));
  const labels = `{trace_id="${SPAN.traceId}",span_id="${SPAN.spanId}"}`;
  assert.equal(exemplars.length, 2);
  const [request = '', inquiry = ''] = exemplars;
  assert.ok(request.startsWith(`${BUCKET}{route="/a \\"quoted\\"\\\\ route",le="0.0005"} 2 # ${labels} 0.0004 `));
  assert.ok(inquiry.startsWith(`tiba_inquiry_duration_seconds_bucket{rail="bca",le="+Inf"} 1 # ${labels} 9 `));
});

suite('promtool', { skip: commandIsMissing('promtool') }, () => {
  test('reads it', async () => {
    assert.equal(faultsOf((await exampleMetrics()).converted), '');
  });

  test('would find an exemplar with a fault, and a missing end', async () => {
    const { converted } = await exampleMetrics();
    assert.match(faultsOf(converted.replace('{trace_id="', '{trace_id=')), /expected label value/);
    assert.notEqual(faultsOf(converted.replace('# EOF\n', '')), '');
  });
});
