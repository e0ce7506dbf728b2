import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresServer } from '../../test/fault-injection/postgres-server.ts';
import type { TestValkey } from '../../test/support/valkey.ts';
import type { CampaignBank } from './bank.ts';
import {
  isPostgresFault,
  isValkeyFault,
  type OtherFault,
  type PlannedFault,
  type PostgresFault,
  type ValkeyFault,
} from './faults.ts';
import type { PostgresProxy } from './postgres-proxy.ts';
import type { Receiver } from './receiver.ts';
import type { RoundContext } from './round-context.ts';

/** What faults happen to, apart from the processes of the service. */
export interface FaultTargets {
  readonly postgres: PostgresServer;
  readonly postgresProxy: PostgresProxy;
  readonly bank: CampaignBank;
  readonly receiver: Receiver;
  readonly valkey: TestValkey | null;
  /** Called when PostgreSQL is disturbed, and when that has ended. */
  readonly onDisturbance: () => void;
  /** Called before Valkey loses its data. */
  /** Processes may decide on limits without Valkey. */
  readonly onLimitsAlone: () => void;
  readonly onLimitsLost: () => void;
}

/**
 * Makes the planned faults happen, each at its time. Resolves when all have begun. The function that it returns waits
 * for the ends of those that end by themselves.
 */
export async function injectFaults(
  context: RoundContext,
  targets: FaultTargets,
  planned: readonly PlannedFault[],
): Promise<() => Promise<void>> {
  const { record, loadEnds } = context;
  const startedMs = performance.now();
  const running: Promise<void>[] = [];
  // One fault of a server at a time: a stopped one cannot be killed in an orderly way, nor a killed one stopped.
  let postgresIsFree = Promise.resolve();
  let valkeyIsFree = Promise.resolve();
  for (const { atMs, fault } of planned) {
    const leftMs = Math.max(0, atMs - (performance.now() - startedMs));
    await delay(leftMs, undefined, { signal: loadEnds }).catch(() => {});
    if (loadEnds.aborted) break;
    record.count('faults');
    if (isPostgresFault(fault)) {
      postgresIsFree = postgresIsFree.then(() => disturbPostgres(context, targets, fault));
      running.push(postgresIsFree);
    } else if (isValkeyFault(fault)) {
      valkeyIsFree = valkeyIsFree.then(() => disturbValkey(context, targets, fault));
      running.push(valkeyIsFree);
    } else {
      running.push(inject(context, targets, fault));
    }
  }
  return async () => void (await Promise.all(running));
}

async function inject({ processes, loadEnds }: RoundContext, targets: FaultTargets, fault: OtherFault): Promise<void> {
  const { bank, receiver } = targets;
  const last = (durationMs: number): Promise<void> =>
    delay(durationMs, undefined, { signal: loadEnds }).catch(() => {});
  switch (fault.kind) {
    case 'kill service':
      if (fault.duringStart || processes[fault.process]?.isUp() === true) processes[fault.process]?.kill();
      return;
    case 'stop service':
      return processes[fault.process]?.terminate();
    case 'unread log':
      processes[fault.process]?.holdLog();
      await last(fault.durationMs);
      return processes[fault.process]?.readLog();
    case 'freeze bank':
      bank.freeze();
      await last(fault.durationMs);
      return bank.resume();
    case 'faulty bank':
      bank.mode = fault.mode;
      await last(fault.durationMs);
      bank.mode = null;
      return;
    case 'faulty receiver':
      receiver.setMode(fault.mode);
      await last(fault.durationMs);
      return receiver.setMode(null);
  }
}

async function disturbPostgres(
  { record, loadEnds }: RoundContext,
  targets: FaultTargets,
  fault: PostgresFault,
): Promise<void> {
  const { postgres, postgresProxy, onDisturbance } = targets;
  onDisturbance();
  switch (fault.kind) {
    case 'kill postgres':
      record.count('kills of PostgreSQL');
      await postgres.kill();
      await postgres.start();
      break;
    case 'kill postgres backend':
      // PostgreSQL then ends all others too, and recovers as after a crash.
      record.count('kills of PostgreSQL');
      await killBackend(postgres);
      break;
    case 'freeze postgres':
      await postgres.freeze().catch(() => {});
      await delay(fault.durationMs, undefined, { signal: loadEnds }).catch(() => {});
      postgres.resume();
      break;
    case 'cut postgres connections':
      postgresProxy.cut();
      break;
  }
  onDisturbance();
}

async function disturbValkey(
  { record, loadEnds }: RoundContext,
  targets: FaultTargets,
  fault: ValkeyFault,
): Promise<void> {
  const { valkey, onLimitsAlone, onLimitsLost } = targets;
  if (valkey === null) return;
  onLimitsAlone();
  if (fault.kind === 'freeze valkey') valkey.freeze();
  else {
    record.count('kills of Valkey');
    onLimitsLost();
    await valkey.kill();
  }
  await delay(fault.durationMs, undefined, { signal: loadEnds }).catch(() => {});
  if (fault.kind === 'freeze valkey') valkey.thaw();
  else await valkey.restart();
}

async function killBackend(postgres: PostgresServer): Promise<void> {
  const rows = await postgres
    .query<{ pid: number }>(
      `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
        order by query_start desc limit 1`,
    )
    // It may still recover from the fault before.
    .catch(() => []);
  for (const { pid } of rows) process.kill(pid, 'SIGKILL');
}
