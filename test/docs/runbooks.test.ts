import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { commandIsMissing } from '../support/required-command.ts';

/** deploy/prometheus: what an operator is alerted about, and what the runbook of each alert says. */

const folder = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url));
const read = (file: string): Promise<string> => readFile(new URL(`../../${file}`, import.meta.url), 'utf8');

const alerts = await read('deploy/prometheus/alerts.yaml');
const cases = await read('deploy/prometheus/alerts.test.yaml');
const runbooks = await read('docs/runbooks.md');
const names = [...alerts.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name]) => name as string);

const QUESTIONS = ['**Means**:', '**Clients see**:', '**Look**:', '**Do**:'];

function problems(alert: string): string[] {
  const [, section = ''] = runbooks.split(`\n## ${alert}\n`);
  const [text = ''] = section.split('\n## ', 1);
  const missing = QUESTIONS.filter((question) => !text.includes(question)).map((question) => `runbook: ${question}`);
  for (const form of [`${alert} fires`, `${alert} stays silent`]) {
    if (!cases.includes(`- name: '${form}'`)) missing.push(`test: ${form}`);
  }
  if (!alerts.includes(`docs/runbooks.md#${alert.toLowerCase()}'`)) missing.push('annotation runbook');
  return missing;
}

suite('each alert has a runbook that answers four questions, and a test for firing and for silence', () => {
  for (const name of names) test(name, () => assert.deepEqual(problems(name), []));
  test('an alert without them is found', () => {
    assert.ok(names.length > 20);
    assert.equal(problems('TibaPlanted').length, QUESTIONS.length + 3);
  });
  test('no section is about an alert that does not exist', () => {
    const sections = [...runbooks.matchAll(/^## (\w+)$/gm)].map(([, name]) => name as string);
    assert.deepEqual(sections, names);
  });
});

test('each metric that an alert uses exists', async () => {
  const metrics = await createMetrics().render();
  const expressions = [...alerts.matchAll(/^ +expr: '(.*)'$/gm)].map(([, expression]) => expression as string);
  assert.equal(expressions.length, names.length);
  const used = new Set(expressions.flatMap((each) => each.match(/\b(?:tiba|nodejs|process)_\w+/g) ?? []));
  const exists = (name: string): boolean => metrics.includes(`# TYPE ${name.replace(/_bucket$/, '')} `);
  assert.deepEqual(
    [...used].filter((name) => !exists(name)),
    [],
  );
  assert.ok(!exists('tiba_planted_total'));
});

suite('promtool', { skip: commandIsMissing('promtool') }, () => {
  test('each alert fires and stays silent as its tests say', () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'alerts.test.yaml'], { cwd: folder });
    assert.equal(status, 0, `${stdout.toString()}${stderr.toString()}`);
  });
});
