import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ProcessPorts, startHaproxy } from '../test/deploy/haproxy.ts';
import { createNextRelease } from '../test/deploy/next-release.ts';
import { commandIsMissing } from '../test/support/required-command.ts';
import { migrate } from './failover/migrate.ts';
import { openLoad, verdictOf } from './failover/steady-load.ts';
import { machineLoad } from './load/watch.ts';
import type { Part } from './part.ts';
import { openEnvironment } from './random/environment.ts';
import { createRecord } from './random/record.ts';
import type { ServiceProcess } from './random/service.ts';
import { openSurroundings, startProcesses } from './random/surroundings.ts';

const PROCESSES = 4;
const RESTARTS = 5;
/** As the shipped configuration of HAProxy asks for. */
const STOP_DELAY_SECONDS = '5';
/** Receivers that take longer than a process that stops waits for PostgreSQL. */
const SLOW_CALLBACKS = { oneOf: 300, answerMs: 7_000 };
const WARM_UP_MS = 3_000;
const START_MS_MAX = 60_000;
const POLL_MS = 50;
const THIS_MAIN = fileURLToPath(new URL('../apps/server/src/main.ts', import.meta.url));

/**
 * Four processes behind HAProxy with the shipped configuration, under requests of all kinds: five rolling restarts,
 * then a rolling upgrade to the next release (test/deploy/next-release.ts) and back. No request may fail, and no
 * callback may be sent twice. It takes as long as it takes: `--seconds` does not apply.
 */
export const rollingRestart: Part = async ({ seed, signal, print }) => {
  const missing = commandIsMissing('haproxy');
  if (missing !== false) throw new Error(missing);
  const record = createRecord();
  await using closers = new AsyncDisposableStack();
  const environment = await openEnvironment();
  closers.defer(() => environment.close());
  const next = await createNextRelease();
  closers.defer(() => next.remove());
  const surroundings = await openSurroundings({ seed, environment, record, hasValkey: false }, closers);
  surroundings.receiver.slowDown(SLOW_CALLBACKS.oneOf, SLOW_CALLBACKS.answerMs);
  const serviceSettings = {
    ...surroundings.serviceSettings,
    TIBA_MIGRATE: 'no',
    TIBA_STOP_DELAY_SECONDS: STOP_DELAY_SECONDS,
    TIBA_TRUSTED_PROXIES: '127.0.0.1',
    TIBA_OPERATOR_TRUSTED_PROXIES: '127.0.0.1',
    // Processes that start take the cores from those that serve, which have theirs on machines of their own.
    TIBA_EVENT_LOOP_DELAY_MS: '0',
  };
  let main = THIS_MAIN;
  const processes = await startProcesses({ ...surroundings, serviceSettings }, PROCESSES, closers, () => main);
  const proxy = await startHaproxy({ processes: processes.map(portsOf) });
  closers.defer(() => proxy.stop());
  await untilAnswered([`${proxy.url}/openapi.json`, `${proxy.coreUrl}/readyz`]);
  const target = { name: 'haproxy', url: proxy.url, operatorUrl: proxy.coreUrl, isUp: () => true };
  const load = await openLoad(
    { seed, signal, surroundings, processes, target, mayFail: () => false, sendsCallbacksOnce: true },
    closers,
  );

  const roll = async (what: string): Promise<void> => {
    const startedMs = performance.now();
    for (const process of processes) if (!signal.aborted) await restart(process);
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    const repeated = surroundings.receiver.repeated().length;
    const soFar = `${load.requests()} requests, ${load.failures()} failed, ${repeated} callbacks sent again`;
    print(`${what}: ${seconds} s; so far ${soFar}; ${machineLoad()}`);
    record.count(what);
  };
  await delay(WARM_UP_MS, undefined, { signal });
  for (let count = 0; count < RESTARTS && !signal.aborted; count += 1) await roll('rolling restarts');
  await migrate(next.main, serviceSettings);
  main = next.main;
  await roll('rolling upgrades');
  main = THIS_MAIN;
  await roll('rolling downgrades');
  await load.end();
  return verdictOf(record, seed);
};

const portsOf = ({ url, operatorUrl }: ServiceProcess): ProcessPorts => ({
  port: Number(new URL(url).port),
  operatorPort: Number(new URL(operatorUrl).port),
});

/** As docs/operating.md says: the next one follows when this one is ready. */
async function restart(process: ServiceProcess): Promise<void> {
  const starts = process.starts();
  process.terminate();
  const deadlineMs = performance.now() + START_MS_MAX;
  while (process.starts() === starts || !process.isUp()) {
    if (performance.now() > deadlineMs) throw new Error(`${process.name} does not come back`);
    await delay(POLL_MS);
  }
  await untilAnswered([`${process.operatorUrl}/readyz`]);
}

/** Resolves when each of them is answered with 200. */
async function untilAnswered(urls: readonly string[]): Promise<void> {
  const deadlineMs = performance.now() + START_MS_MAX;
  for (const url of urls) {
    for (;;) {
      const answer = await fetch(url).catch(() => null);
      await answer?.body?.cancel();
      if (answer?.status === 200) break;
      if (performance.now() > deadlineMs) throw new Error(`${url} is not answered`);
      await delay(POLL_MS);
    }
  }
}
