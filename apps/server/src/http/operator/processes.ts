import type { FastifyInstance } from 'fastify';
import type { Database } from '../../postgres/database.ts';
import { listProcesses, type RegisteredProcess } from '../../postgres/processes.ts';
import type { Authorize } from '../authorize.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import { processesSchema } from './list-schemas.ts';

/** Lists the processes that share this database (docs/operating.md, "Several processes"). */
export function listLiveProcesses(
  app: FastifyInstance,
  authorize: Authorize,
  database: Database,
  thisProcessId: string,
): void {
  const options = { onRequest: authorize({ scope: 'operator:read' }), schema: processesSchema };
  app.get('/operator/v1/processes', options, async (_request, reply) => {
    const processes = await listProcesses(database);
    const data = JSON.stringify({ processes: processes.map((each) => processJson(each, thisProcessId)) });
    return sendOperatorSuccess(reply, 'Processes found', data);
  });
}

const processJson = (each: RegisteredProcess, thisProcessId: string): Record<string, unknown> => ({
  process_id: each.processId,
  is_this_one: each.processId === thisProcessId,
  host_name: each.hostName,
  pid: each.pid,
  version: each.version,
  started_at: each.startedAt.toISOString(),
  last_heartbeat_seconds: Math.round(each.lastHeartbeatSeconds * 10) / 10,
  event_loop_utilization: Math.round(each.eventLoopUtilization * 1000) / 1000,
  resident_bytes: each.residentBytes,
  clock_skew_ms: each.clockSkewMs,
});
