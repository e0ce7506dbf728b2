import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createNextRelease } from '../test/deploy/next-release.ts';
import { migrate } from './failover/migrate.ts';
import { openLoad, verdictOf } from './failover/steady-load.ts';
import { machineLoad } from './load/watch.ts';
import type { Part } from './part.ts';
import type { EndedCall } from './random/caller.ts';
import { openEnvironment } from './random/environment.ts';
import { createRecord } from './random/record.ts';
import { openSurroundings, startProcesses } from './random/surroundings.ts';

const PROCESSES = 2;
const WARM_UP_MS = 3_000;
const P99_MS_MAX = 1_000;
const WINDOW_MS = 5_000;

/**
 * A report reads for `--seconds` (60) while the schema is migrated to the next release (test/deploy/next-release.ts)
 * under load. Status checks go on, and the migration is applied when the report has ended.
 */
export const migrationBehindReader: Part = async ({ seed, seconds, signal, print }) => {
  const record = createRecord();
  await using closers = new AsyncDisposableStack();
  const environment = await openEnvironment();
  closers.defer(() => environment.close());
  const next = await createNextRelease();
  closers.defer(() => next.remove());
  const surroundings = await openSurroundings({ seed, environment, record, hasValkey: false }, closers);
  const serviceSettings = { ...surroundings.serviceSettings, TIBA_MIGRATE: 'no', TIBA_EVENT_LOOP_DELAY_MS: '0' };
  const processes = await startProcesses({ ...surroundings, serviceSettings }, PROCESSES, closers);
  const checks: StatusCheck[] = [];
  const load = await openLoad(
    {
      seed,
      signal,
      surroundings,
      processes,
      mayFail: () => false,
      sendsCallbacksOnce: true,
      onAnswer({ request, startedMs }) {
        if (isMeasured(request)) checks.push({ startedMs, tookMs: performance.now() - startedMs });
      },
    },
    closers,
  );
  await delay(WARM_UP_MS, undefined, { signal });

  const reader = new pg.Client(surroundings.connection);
  await reader.connect();
  closers.defer(() => reader.end());
  await reader.query('begin; select count(*) from tiba.transactions; select count(*) from tiba.callback_deliveries');
  print(`a report reads for ${seconds} s; ${machineLoad()}`);
  const fromMs = performance.now();
  const migrating = migrate(next.main, serviceSettings);
  const reading = delay(seconds * 1_000, false, { signal }).catch(() => false);
  const wasEarly = await Promise.race([reading, migrating.then(() => true)]);
  if (wasEarly) record.wrong('the migration did not wait for the report', '');
  const readerEndsMs = performance.now();
  await reader.query('rollback');
  await migrating;
  record.most('migrated after the report, ms', Math.round(performance.now() - readerEndsMs));
  print(`migrated; ${load.requests()} requests so far, ${load.failures()} failed; ${machineLoad()}`);
  await delay(WARM_UP_MS, undefined, { signal });
  await load.end();

  const measured = checks.filter(({ startedMs }) => startedMs >= fromMs);
  const p99Ms = percentile(measured, 0.99);
  const worstMs = worstWindow(measured, fromMs);
  record.count('status checks measured', measured.length);
  record.most('p50 of status checks, ms', Math.round(percentile(measured, 0.5)));
  record.most('p99 of status checks, ms', Math.round(p99Ms));
  record.most('p99 in the worst 5 s, ms', Math.round(worstMs));
  record.most('slowest status check, ms', Math.round(percentile(measured, 1)));
  if (!(worstMs < P99_MS_MAX)) record.wrong('status checks wait behind the migration', `p99 of 5 s: ${worstMs} ms`);
  return verdictOf(record, seed);
};

interface StatusCheck {
  readonly startedMs: number;
  readonly tookMs: number;
}

/** Status checks that do not wait for a change. */
const isMeasured = ({ target, headers = {} }: EndedCall['request']): boolean =>
  target.startsWith('/api/v1/check-status') && !('prefer' in headers) && !('accept' in headers);

/** In milliseconds; NaN without any check. */
function percentile(checks: readonly StatusCheck[], share: number): number {
  const sorted = checks.map(({ tookMs }) => tookMs).sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function worstWindow(checks: readonly StatusCheck[], fromMs: number): number {
  const windows = Map.groupBy(checks, ({ startedMs }) => Math.floor((startedMs - fromMs) / WINDOW_MS));
  return Math.max(...[...windows.values()].map((window) => percentile(window, 0.99)));
}
