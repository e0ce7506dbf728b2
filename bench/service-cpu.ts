import type pg from 'pg';
import { cpuMicroseconds } from './process-stats.ts';
import type { Service } from './services.ts';

export interface ServiceOnPostgres {
  readonly service: Service;
  /** To PostgreSQL, for questions about it. */
  readonly client: pg.Client;
}

/** Microseconds of CPU time that the service, and PostgreSQL's processes that work for it, use during `work`. */
export async function cpuOf(measured: ServiceOnPostgres, work: () => Promise<void>): Promise<number> {
  const before = await readCpu(measured);
  await work();
  const after = await readCpu(measured);
  return [...after].reduce((sum, [pid, us]) => sum + us - (before.get(pid) ?? 0), 0);
}

/** Microseconds by process. A connection that was opened meanwhile counts from its start. */
async function readCpu({ service, client }: ServiceOnPostgres): Promise<Map<number, number>> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
  );
  const pids = [service.pid, ...rows.map(({ pid }) => pid)];
  return new Map(await Promise.all(pids.map(async (pid) => [pid, await cpuMicroseconds(pid)] as const)));
}
