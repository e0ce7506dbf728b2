import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findLastingPort } from '../../campaign/random/ports.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { commandIsMissing } from '../support/required-command.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

/** Prometheus itself, with the configuration and the rules in deploy/, and a running service. */

const deploy = (file: string): string => fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url));
const TOKEN = 'the token of the scraper';
const WITHIN_MS = timeLimitMs(30_000);

interface Prometheus {
  /** The answer of its API. */
  get<T>(path: string): Promise<T>;
  stop(): Promise<void>;
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly name: string; readonly health: string }[] }[];
}

interface Targets {
  readonly activeTargets: readonly {
    readonly health: string;
    readonly lastError: string;
    readonly scrapeUrl: string;
  }[];
}

/** With rules that wait for a moment only, and production's job, which most rules are about. */
async function configure(directory: string, { operatorPort, alertsUrl }: { operatorPort: number; alertsUrl: string }) {
  const rules = await readFile(deploy('prometheus/alerts.yaml'), 'utf8');
  await writeFile(path.join(directory, 'alerts.yaml'), rules.replaceAll(/^( +for:) \d+[mh]$/gm, '$1 200ms'));
  await writeFile(path.join(directory, 'token'), TOKEN);
  const shipped = await readFile(deploy('compose/prometheus.yaml'), 'utf8');
  const own = [
    ['scrape_interval: 15s', 'scrape_interval: 1s\n  scrape_timeout: 1s\n  evaluation_interval: 500ms'],
    ['/etc/prometheus/alerts.yaml', 'alerts.yaml'],
    ['job_name: tiba-staging', 'job_name: tiba\n    authorization: { credentials_file: token }'],
    ["'tiba:8081'", `'127.0.0.1:${operatorPort}'`],
  ] as const;
  const alerting = `alerting:\n  alertmanagers:\n    - static_configs: [{ targets: ['${new URL(alertsUrl).host}'] }]\n`;
  const configuration = own.reduce((text, [from, to]) => {
    assert.ok(text.includes(from), from);
    return text.replace(from, to);
  }, shipped);
  await writeFile(path.join(directory, 'prometheus.yaml'), configuration + alerting);
}

async function startPrometheus(directory: string): Promise<Prometheus> {
  const address = `127.0.0.1:${await findLastingPort()}`;
  const child = spawn(
    'prometheus',
    [
      '--config.file=prometheus.yaml',
      '--storage.tsdb.path=data',
      `--web.listen-address=${address}`,
      '--rules.alert.resend-delay=200ms',
      '--log.level=warn',
    ],
    { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  try {
    const isReady = async (): Promise<boolean> => {
      if (child.exitCode !== null) throw new Error(`Prometheus ended: ${complaints}`);
      return fetch(`http://${address}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    };
    await eventually('Prometheus is ready', isReady, WITHIN_MS);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    async get<T>(target: string) {
      const response = await fetch(`http://${address}/api/v1/${target}`);
      return ((await response.json()) as { data: T }).data;
    },
    stop,
  };
}

suite('Prometheus with the shipped configuration and rules', { skip: commandIsMissing('prometheus') }, () => {
  let directory: string;
  let operatorPort: number;
  let database: TestDatabase;
  let service: TestService;
  let receiver: HttpReceiver;
  let prometheus: Prometheus;

  const start = (): Promise<TestService> =>
    startTestService({ database, rails: [], settings: { operatorPort, metricsToken: TOKEN } });

  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-prometheus-'));
    operatorPort = await findLastingPort();
    database = await createTestDatabase();
    service = await start();
    receiver = await startHttpReceiver();
    await configure(directory, { operatorPort, alertsUrl: receiver.url });
    prometheus = await startPrometheus(directory);
  });
  after(async () => {
    await prometheus?.stop();
    await receiver?.close();
    await service?.close();
    await database?.drop();
    await rm(directory, { recursive: true, force: true });
  });

  /** The state of an alert that Prometheus evaluates: `pending`, `firing`, or null when its condition is not true. */
  async function stateOf(alert: string): Promise<string | null> {
    const { alerts } = await prometheus.get<{ alerts: { labels: Record<string, string>; state: string }[] }>('alerts');
    return alerts.find(({ labels }) => labels['alertname'] === alert)?.state ?? null;
  }

  test('scrapes the service with a token, and evaluates each rule without an error', async () => {
    await eventually(
      'the service is up',
      async () => {
        const { activeTargets } = await prometheus.get<Targets>('targets');
        return activeTargets.length === 1 && activeTargets.every(({ health }) => health === 'up');
      },
      WITHIN_MS,
    );
    const written = (await readFile(deploy('prometheus/alerts.yaml'), 'utf8')).match(/^ +- alert: /gm) ?? [];
    let loaded: Rules['groups'][number]['rules'] = [];
    await eventually(
      'each rule was evaluated',
      async () => {
        loaded = (await prometheus.get<Rules>('rules')).groups.flatMap(({ rules }) => rules);
        return loaded.every(({ health }) => health !== 'unknown');
      },
      WITHIN_MS,
    );
    assert.deepEqual(new Set(loaded.map(({ health }) => health)), new Set(['ok']));
    assert.equal(loaded.length, written.length);
    const { result } = await prometheus.get<{ result: { value: [number, string] }[] }>('query?query=tiba_ready');
    assert.deepEqual(
      result.map(({ value: [, value] }) => value),
      ['1'],
    );
  });

  test('TibaDown fires when the process ends, is delivered, and is resolved when it is back', async () => {
    await eventually('it is silent', async () => (await stateOf('TibaDown')) === null, WITHIN_MS);
    await service.close();
    await eventually('the alert fires', async () => (await stateOf('TibaDown')) === 'firing', WITHIN_MS);
    await eventually('it is delivered', () => delivered('firing'), WITHIN_MS);
    service = await start();
    await eventually('the alert is over', async () => (await stateOf('TibaDown')) === null, WITHIN_MS);
    await eventually('its end is delivered', () => delivered('resolved'), WITHIN_MS);
  });

  /** Whether an alert manager was told about TibaDown: that it fires, or that it is over. */
  const delivered = (state: 'firing' | 'resolved'): boolean =>
    receiver.requests.some(({ body, atMs }) =>
      (JSON.parse(body) as Delivered[]).some(
        ({ labels, annotations, endsAt }) =>
          labels['alertname'] === 'TibaDown' &&
          annotations['runbook'] === 'docs/runbooks.md#tibadown' &&
          // A firing alert ends some time later, unless it is sent again.
          Date.parse(endsAt) > atMs === (state === 'firing'),
      ),
    );
});

interface Delivered {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly endsAt: string;
}
