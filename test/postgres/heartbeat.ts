import type { Database } from '../../apps/server/src/postgres/database.ts';
import { recordHeartbeat } from '../../apps/server/src/postgres/processes.ts';

const REPORT = {
  hostName: 'a machine',
  pid: 1,
  version: '0.1.0',
  eventLoopUtilization: 0,
  residentBytes: 0,
  clockSkewMs: null,
  secretKeyId: 'a key',
} as const;

/** A heartbeat of a process that is not there. */
export const heartbeatOf = (database: Database, processId: string): ReturnType<typeof recordHeartbeat> =>
  recordHeartbeat(database, { ...REPORT, processId });
