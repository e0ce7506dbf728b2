import type { Database } from '../database.ts';
import { eachClient } from '../distributed/one-client.ts';

/** Deletes old records in batches, and passes over those that must stay once, not in each batch. */
export interface RetentionScan {
  /** Examines the next records from before then. Resolves to how many it deleted. */
  deleteBatch(before: Date): Promise<number>;
  /** Whether records are left to examine: a batch may have deleted none. */
  hasMore(): boolean;
}

/** One batch of a scan: from the positions on, which it moves behind what must stay. */
export interface ScannedBatch {
  readonly deleted: number;
  readonly hasMore: boolean;
}

/** One batch over all clients; on a distributed PostgreSQL client by client, until `limit` records are deleted. */
export async function scanOverClients(
  database: Database,
  limit: number,
  scan: (database: Database, limit: number) => Promise<ScannedBatch>,
): Promise<ScannedBatch> {
  let deleted = 0;
  let hasMore = false;
  for await (const own of eachClient(database)) {
    if (deleted >= limit) return { deleted, hasMore: true };
    const batch = await scan(own, limit - deleted);
    deleted += batch.deleted;
    hasMore ||= batch.hasMore;
  }
  return { deleted, hasMore };
}

/** What had to stay is examined again after this time. */
const AGAIN_MS = 60 * 60 * 1_000;

/** `Position`: of the last record of a client that was examined and stays. Clients without one begin at their first. */
export function createRetentionScan<Position>(
  scan: (before: Date, positions: Map<string, Position>) => Promise<ScannedBatch>,
  nowMs: () => number = () => performance.now(),
): RetentionScan {
  const positions = new Map<string, Position>();
  let beganMs = nowMs();
  let more = false;
  return {
    async deleteBatch(before) {
      if (!more && nowMs() - beganMs >= AGAIN_MS) {
        positions.clear();
        beganMs = nowMs();
      }
      const { deleted, hasMore } = await scan(before, positions);
      more = hasMore;
      return deleted;
    },
    hasMore: () => more,
  };
}
