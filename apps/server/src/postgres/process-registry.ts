import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { processExists } from '../lib/process-exists.ts';
import { repeat } from '../lib/repeat.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Database } from './database.ts';
import { createDatabaseClock } from './database-clock.ts';
import {
  DEAD_AFTER_SECONDS,
  type Heartbeat,
  type OtherProcess,
  type ProcessReport,
  recordHeartbeat,
  removeProcess,
} from './processes.ts';

/** The processes that share this database, by their heartbeats on PostgreSQL's clock. */
export interface ProcessRegistry {
  readonly processId: string;
  /**
   * This process included. One that was killed counts for some seconds more, as what it has at a bank does. While
   * PostgreSQL is unavailable, and until the others had the time to report again, no fewer than were found last.
   */
  liveProcesses(): number;
  /** The same without those that are known to have been killed. */
  runningProcesses(): number;
  /** Calls it after each heartbeat. */
  onHeartbeat(listener: () => void): void;
  /** How far this process's clock is at least ahead of PostgreSQL's, in ms; negative: behind. 0: not noticeably. */
  clockSkewMs(): number;
  /** PostgreSQL's time as this process knows it from the heartbeats, whatever its own clock does: ms since 1970. */
  databaseNow(): number;
  /** Removes this process. */
  close(): Promise<void>;
}

export interface ProcessRegistryDependencies {
  readonly database: Database;
  readonly version: string;
  /** The ID of TIBA_SECRET_KEY. */
  readonly secretKeyId: string;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'liveProcesses' | 'clockSkew'>;
  /** Milliseconds since 1970. */
  readonly wallClock?: () => number;
}

const INTERVAL_MS = 2_000;
/** A clock that is off by more is reported. */
export const CLOCK_SKEW_WARNING_MS = 2_000;
/** A clock that is off by more makes the process not ready: its tokens and signatures would be refused. */
export const CLOCK_SKEW_MAX_MS = 10_000;

/** Resolves after the first heartbeat. */
export async function startProcessRegistry(dependencies: ProcessRegistryDependencies): Promise<ProcessRegistry> {
  const { database, version, secretKeyId, log, metrics, wallClock = Date.now } = dependencies;
  const processId = randomUUID();
  let liveProcesses = 1;
  let runningProcesses = 1;
  let failedMs = Number.NEGATIVE_INFINITY;
  let onHeartbeat = (): void => {};
  let skewMs: number | null = null;
  const databaseClock = createDatabaseClock(wallClock());
  const logSkew = createSkewLog(log);
  let utilization = performance.eventLoopUtilization();

  function report(): ProcessReport {
    const now = performance.eventLoopUtilization();
    const { utilization: eventLoopUtilization } = performance.eventLoopUtilization(now, utilization);
    utilization = now;
    return {
      processId,
      hostName: hostname(),
      pid: process.pid,
      version,
      eventLoopUtilization,
      residentBytes: process.memoryUsage.rss(),
      clockSkewMs: skewMs,
      secretKeyId,
    };
  }

  async function beat(): Promise<void> {
    const sentMs = wallClock();
    const monotonicSentMs = performance.now();
    const heartbeat = await recordHeartbeat(database, report());
    databaseClock.learn(heartbeat.databaseMs, monotonicSentMs, performance.now());
    skewMs = skewOf(heartbeat, sentMs, wallClock());
    const isSettled = performance.now() - failedMs > DEAD_AFTER_SECONDS * 1000;
    const live = 1 + heartbeat.others.length;
    const running = live - heartbeat.others.filter(wasKilled).length;
    liveProcesses = isSettled ? live : Math.max(live, liveProcesses);
    runningProcesses = isSettled ? running : Math.max(running, runningProcesses);
    metrics.liveProcesses.set(liveProcesses);
    metrics.clockSkew.set(skewMs / 1000);
    logSkew(skewMs);
    onHeartbeat();
  }

  await beat();
  const { failed, succeeded } = createFailureLog(log, 'recording the heartbeat of this process failed; will retry');
  function beatFailed(error: unknown): void {
    failedMs = performance.now();
    failed(error);
  }
  const repetition = repeat(INTERVAL_MS, beat, { failed: beatFailed, succeeded });
  return {
    processId,
    liveProcesses: () => liveProcesses,
    runningProcesses: () => runningProcesses,
    onHeartbeat(listener) {
      onHeartbeat = listener;
    },
    clockSkewMs: () => skewMs ?? 0,
    databaseNow: databaseClock.now,
    async close() {
      await repetition.stop();
      // Otherwise the others would count this process for some seconds more.
      await removeProcess(database, processId).catch(() => {});
    },
  };
}

/** Logs once that the clock is off, and once that it is no longer. */
function createSkewLog(log: Log): (clockSkewMs: number) => void {
  let wasOff = false;
  return (clockSkewMs) => {
    const isOff = Math.abs(clockSkewMs) > CLOCK_SKEW_WARNING_MS;
    if (isOff && !wasOff) {
      log.warn({ clockSkewMs }, "clock differs from postgresql's; not ready beyond 10 s: synchronize it (NTP)");
    } else if (wasOff && !isOff) log.info({ clockSkewMs }, "clock agrees with postgresql's again");
    wasOff = isOff;
  };
}

/** PostgreSQL read its clock at some moment between the two: what it may explain is no skew. */
function skewOf({ databaseMs }: Heartbeat, sentMs: number, receivedMs: number): number {
  if (databaseMs < sentMs) return Math.round(sentMs - databaseMs);
  return databaseMs > receivedMs ? Math.round(receivedMs - databaseMs) : 0;
}

/**
 * It ran on this machine, has reported nothing since this process began, and no other program has its PID. In a
 * container, where PIDs begin anew, this process may have it.
 */
const wasKilled = ({ hostName, pid, lastHeartbeatSeconds }: OtherProcess): boolean =>
  hostName === hostname() && lastHeartbeatSeconds > process.uptime() && (pid === process.pid || !processExists(pid));
