import type { Database } from './database.ts';

/** What a process reports about itself. */
export interface ProcessReport {
  /** A new UUID at each start. */
  readonly processId: string;
  readonly hostName: string;
  readonly pid: number;
  readonly version: string;
  /** The share of time in which the event loop was busy, from 0 to 1, since the last report. */
  readonly eventLoopUtilization: number;
  readonly residentBytes: number;
  /** How far the process's clock is ahead of PostgreSQL's; negative: behind. Null when it is not known yet. */
  readonly clockSkewMs: number | null;
  /** The ID of its TIBA_SECRET_KEY. */
  readonly secretKeyId: string;
}

export interface Heartbeat {
  /** PostgreSQL's clock, milliseconds since 1970. */
  readonly databaseMs: number;
  /** The other live processes. */
  readonly others: readonly OtherProcess[];
}

export interface OtherProcess {
  readonly hostName: string;
  readonly pid: number;
  readonly lastHeartbeatSeconds: number;
}

export interface RegisteredProcess extends ProcessReport {
  readonly startedAt: Date;
  /** On PostgreSQL's clock. */
  readonly lastHeartbeatSeconds: number;
}

/** A process that has reported nothing for this long counts as dead. */
export const DEAD_AFTER_SECONDS = 8;

/** Registers the process or renews its registration, and removes dead ones. */
export async function recordHeartbeat(database: Database, report: ProcessReport): Promise<Heartbeat> {
  const [row] = await database.query<{ database_ms: number; others: OtherProcess[] }>(
    HEARTBEAT_SQL,
    reportValues(report),
    'heartbeat',
  );
  if (row === undefined) throw new Error('a heartbeat returned no row');
  return { databaseMs: row.database_ms, others: row.others };
}

const reportValues = (report: ProcessReport): unknown[] => [
  report.processId,
  report.hostName,
  report.pid,
  report.version,
  report.eventLoopUtilization,
  report.residentBytes,
  report.clockSkewMs,
  report.secretKeyId,
];

const HEARTBEAT_SQL = `
with renewed as (
  insert into tiba.processes as p
         (process_id, host_name, pid, version, event_loop_utilization, resident_bytes, clock_skew_ms,
          secret_key_id)
  values ($1, $2, $3, $4, $5, $6, $7, $8)
      on conflict (process_id) do update
     set heartbeat_at = now(), event_loop_utilization = excluded.event_loop_utilization,
         resident_bytes = excluded.resident_bytes, clock_skew_ms = excluded.clock_skew_ms
), removed as (
  -- Without waiting: after an outage all processes seem dead to each other, and each is renewing its own row.
  delete from tiba.processes
   where process_id in (
     select process_id from tiba.processes
      where heartbeat_at < now() - interval '${DEAD_AFTER_SECONDS} seconds' and process_id <> $1
        for update skip locked)
), corrected as (
  -- This clock was ahead at their heartbeat: those that are gone would never seem dead.
  update tiba.processes set heartbeat_at = now()
   where process_id in (
     select process_id from tiba.processes
      where heartbeat_at > now() + interval '${DEAD_AFTER_SECONDS} seconds' and process_id <> $1
        for update skip locked)
)
select (extract(epoch from clock_timestamp()) * 1000)::float8 as database_ms,
       coalesce(json_agg(json_build_object('hostName', host_name, 'pid', pid,
                                           'lastHeartbeatSeconds', extract(epoch from now() - heartbeat_at))),
                '[]') as others
  from tiba.processes
 where process_id <> $1 and heartbeat_at >= now() - interval '${DEAD_AFTER_SECONDS} seconds'`;

/** The process has ended. */
export async function removeProcess(database: Database, processId: string): Promise<void> {
  await database.query('delete from tiba.processes where process_id = $1', [processId]);
}

/** The live processes, the one that started first at the beginning. */
export function listProcesses(database: Database): Promise<RegisteredProcess[]> {
  return database.query<RegisteredProcess & Record<string, unknown>>(
    `select process_id as "processId", host_name as "hostName", pid, version, started_at as "startedAt",
            event_loop_utilization as "eventLoopUtilization", resident_bytes::float8 as "residentBytes",
            clock_skew_ms as "clockSkewMs", secret_key_id as "secretKeyId",
            extract(epoch from now() - heartbeat_at)::float8 as "lastHeartbeatSeconds"
       from tiba.processes
      where heartbeat_at >= now() - interval '${DEAD_AFTER_SECONDS} seconds'
      order by started_at, process_id`,
  );
}
