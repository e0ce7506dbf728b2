import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { toOpenMetrics } from '../../apps/server/src/observability/open-metrics.ts';

/** OpenMetrics 1.0, as far as Tiba's metrics go: families in one piece, each name with its type's suffix. */
const SAMPLE =
  /^(\w+)(?:\{(?:\w+="(?:[^"\\\n]|\\[\\n"])*",?)*\})? (?:[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf)|NaN)(?: # \{.*\} [\d.e-]+ \d+(?:\.\d+)?)?$/i;
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total'],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
};

function faultsOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.pop() !== '' || lines.pop() !== '# EOF') return ['the end'];
  const seen = new Set<string>();
  let family = '';
  let type = 'unknown';
  return lines.filter((line) => {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\w+) (.+)$/.exec(line) ?? [];
    if (kind === 'TYPE') type = rest;
    if (kind !== undefined) {
      const isNew = name !== family;
      family = name;
      return isNew && (seen.has(name) || seen.add(name).size === 0);
    }
    const sample = SAMPLE.exec(line)?.[1];
    return !(SUFFIXES[type] ?? []).some((suffix) => sample === family + suffix);
  });
}

describe('OpenMetrics', () => {
  it('has every metric of the text format, and exemplars on the buckets of traced durations', async () => {
    const metrics = createMetrics();
    const span = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
    metrics.requests.record('/a "quoted"\\ route', 200, 0.4, span);
    metrics.requests.record('/a "quoted"\\ route', 200, 0.4);
    metrics.requests.record('/untraced', 200, 0.4);
    metrics.inquiries.record('bca', 'timeout', 9_000, span);
    const text = await metrics.render();
    const converted = toOpenMetrics(text, metrics.exemplars());
    assert.deepEqual(faultsOf(converted), []);
    const samples = (of: string): number => of.split('\n').filter((line) => /^\w/.test(line)).length;
    assert.equal(samples(converted), samples(text));
    const exemplars = converted.split('\n').filter((line) => line.includes(' # {'));
    const labels = `{trace_id="${span.traceId}",span_id="${span.spanId}"}`;
    assert.equal(exemplars.length, 2);
    const [request = '', inquiry = ''] = exemplars;
    assert.ok(request.startsWith(`${BUCKET}{route="/a \\"quoted\\"\\\\ route",le="0.0005"} 2 # ${labels} 0.0004 `));
    assert.ok(inquiry.startsWith(`tiba_inquiry_duration_seconds_bucket{rail="bca",le="+Inf"} 1 # ${labels} 9 `));
  });

  it('the check of the form finds faults', async () => {
    const text = await createMetrics().render();
    assert.deepEqual(faultsOf(text), ['the end']);
    assert.equal(faultsOf('# TYPE a counter\na 1\n# EOF\n').length, 1);
    assert.equal(faultsOf('# TYPE a_total counter\na_total 1\n# EOF\n').length, 1);
    assert.equal(faultsOf('# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\n# TYPE a gauge\na 2\n# EOF\n').length, 1);
  });
});

const BUCKET = 'tiba_http_request_duration_seconds_bucket';
