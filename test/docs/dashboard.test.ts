import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { parser } from '@prometheus-io/lezer-promql';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { ROWS } from '../generated/dashboard/panels.ts';
import { renderDashboard } from '../generated/dashboard/render.ts';

/** deploy/grafana: every expression is PromQL about metrics and labels that exist. */

const read = (file: string): Promise<string> => readFile(new URL(`../../${file}`, import.meta.url), 'utf8');
const panels = ROWS.flatMap((row) => row.panels);

/** The labels of each metric, by its name. */
const labels = await declaredLabels();
/** Prometheus adds these. */
const SCRAPED = new Set(['job', 'instance']);

async function declaredLabels(): Promise<Map<string, Set<string>>> {
  const metrics = createMetrics();
  // These are rendered with their labels only when something was recorded.
  for (const outcomes of [metrics.requests, metrics.inquiries, metrics.statusInquiries, metrics.callbacks])
    outcomes.record('subject', 'outcome', 1);
  const declared = new Map<string, Set<string>>([['up', new Set()]]);
  const add = (name: string, names: readonly string[]): void =>
    void declared.set(name, new Set([...(declared.get(name) ?? []), ...names]));
  const text = await metrics.render();
  for (const [, name = ''] of text.matchAll(/^# TYPE (\w+) /gm)) add(name, []);
  for (const [, name = '', given = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm))
    add(
      name,
      [...given.matchAll(/(\w+)="/g)].map(([, label = '']) => label),
    );
  for (const metric of [...Object.values(metrics), ...Object.values(metrics.gauges), metrics.lookUpBatchSize]) {
    // What prom-client checks the labels of every value against. Its types leave it out.
    const { name, labelNames } = metric as { readonly name?: string; readonly labelNames?: readonly string[] };
    if (name !== undefined && labelNames !== undefined) add(name, labelNames);
  }
  return declared;
}

function faultsOf(expression: string): string[] {
  const faults: string[] = [];
  // Grafana replaces it by a duration.
  const text = expression.replaceAll('$__rate_interval', '5m');
  const metrics: string[] = [];
  const used: string[] = [];
  parser.parse(text).iterate({
    enter({ type, from, to, node }) {
      const part = text.slice(from, to);
      if (type.isError) faults.push(`syntax at ${from}`);
      else if (type.name === 'Identifier' && node.parent?.name === 'VectorSelector') metrics.push(part);
      else if (type.name === 'LabelName') used.push(part);
    },
  });
  if (metrics.length === 0) faults.push('no metric');
  for (const metric of metrics) {
    const known = labels.get(metric);
    if (known === undefined) faults.push(`no metric ${metric}`);
    else
      for (const label of used) {
        if (!known.has(label) && !SCRAPED.has(label)) faults.push(`${metric} has no label ${label}`);
      }
  }
  return faults;
}

suite('the dashboard', () => {
  for (const { title, queries } of panels) {
    test(`asks what can be answered: ${title}`, () => {
      assert.deepEqual(
        queries.flatMap(({ expression }) => faultsOf(expression)),
        [],
      );
      for (const { expression, legend } of queries)
        assert.deepEqual(
          [...legend.matchAll(/\{\{(\w+)\}\}/g)].filter(([, label = '']) => !expression.includes(label)),
          [],
        );
    });
  }

  test('an expression with a fault is found', () => {
    assert.deepEqual(faultsOf('rate(tiba_http_requests_total[5m]'), ['syntax at 33']);
    assert.deepEqual(faultsOf('max(tiba_planted)'), ['no metric tiba_planted']);
    assert.deepEqual(faultsOf('sum by (bank) (tiba_ready)'), ['tiba_ready has no label bank']);
    assert.deepEqual(faultsOf('tiba_breaker_state{client_id="a"}'), ['tiba_breaker_state has no label client_id']);
    assert.deepEqual(faultsOf('1'), ['no metric']);
  });

  test('fixes no scrape job, and uses only variables that it has', () => {
    const { templating } = JSON.parse(renderDashboard()) as { templating: { list: { name: string }[] } };
    const variables = new Set(['__rate_interval', ...templating.list.map(({ name }) => name)]);
    const expressions = panels.flatMap(({ queries }) => queries.map(({ expression }) => expression));
    assert.deepEqual(
      expressions.filter((each) => /job="(?!\$)/.test(each)),
      [],
    );
    const used = expressions.flatMap((each) => [...each.matchAll(/\$(\w+)/g)].map(([, name = '']) => name));
    assert.deepEqual(
      used.filter((name) => !variables.has(name)),
      [],
    );
  });

  test('links to runbooks that exist', async () => {
    const runbooks = await read('docs/runbooks.md');
    const named = panels.flatMap((panel) => panel.runbooks ?? []);
    assert.ok(named.length > 20);
    assert.deepEqual(
      named.filter((name) => !runbooks.includes(`\n## ${name}\n`)),
      [],
    );
  });
});
