import type { Database } from '../database.ts';
import { databaseOfClient, listClientIds } from '../distributed/one-client.ts';

/** Deletes old records in batches. A pass goes over all clients, some in each batch. */
export interface RetentionScan {
  /**
   * Examines the next records from before then. Resolves to how many it deleted. At the end of a pass, rejects with the
   * first error that the pass went on after: a pass that failed for a client is not complete.
   */
  deleteBatch(before: Date): Promise<number>;
  /** Whether the pass has not ended: a batch may have deleted none. The batch after its end begins another. */
  hasMore(): boolean;
}

/** A client, and the last of its records that was examined; null: none was. */
export interface ClientPosition<Position> {
  readonly clientId: string;
  readonly position: Position | null;
}

export interface Batch<Position> {
  readonly before: Date;
  /** How many records are examined at most, of all clients together. */
  readonly limit: number;
  readonly clients: readonly ClientPosition<Position>[];
}

export interface ScannedBatch<Position> {
  readonly deleted: number;
  /** Whether it examined as many records as it may. If not, no old record of these clients is left to examine. */
  readonly isFull: boolean;
  /** Of the clients whose records it examined. */
  readonly positions: readonly ClientPosition<Position>[];
}

export type ScanClients<Position> = (database: Database, batch: Batch<Position>) => Promise<ScannedBatch<Position>>;

/**
 * A statement looks at each of its clients, also at those without old records. Of a thousand clients it would examine
 * a million events at once, which takes longer than a statement may.
 */
const CLIENTS_PER_BATCH = 20;

/**
 * What had to stay is examined again after this time, and so is what another process held, and what came later with
 * an earlier time.
 */
const AGAIN_MS = 60 * 60 * 1_000;

/**
 * Remembers how far it examined the records of each client, whether they stay or not: index entries of deleted records
 * stay until PostgreSQL vacuums, and each batch would step over those of all batches before.
 */
export function createRetentionScan<Position>(
  database: Database,
  limit: number,
  scan: ScanClients<Position>,
  nowMs: () => number = () => performance.now(),
): RetentionScan {
  const positions = new Map<string, Position>();
  let beganMs = nowMs();
  /** The clients that this pass has not examined to their end, by the batch that they are in. */
  const left: string[][] = [];
  /** Of clients that this pass goes on without. */
  const failures: unknown[] = [];

  async function beginPass(): Promise<void> {
    if (nowMs() - beganMs >= AGAIN_MS) {
      positions.clear();
      beganMs = nowMs();
    }
    const clients = await listClientIds(database);
    while (clients.length > 0) left.push(clients.splice(0, CLIENTS_PER_BATCH));
  }

  return {
    async deleteBatch(before) {
      if (left.length === 0) {
        if (failures.length > 0) throw failures.splice(0)[0];
        await beginPass();
      }
      const own = left.shift() ?? [];
      const from = own.map((clientId) => ({ clientId, position: positions.get(clientId) ?? null }));
      const { failed, ...batch } = await scanClients(database, { before, limit, clients: from }, scan);
      for (const { clientId, position } of batch.positions) if (position !== null) positions.set(clientId, position);
      if (batch.isFull) left.unshift(own.filter((clientId) => !failed.has(clientId)));
      // A statement about several clients does not say which of them it fails for. Each is examined alone: what fails
      // for one client must not keep the records of others.
      if (failed.size > 1 && !database.distributed) left.push(...own.map((clientId) => [clientId]));
      // The pass goes on without these, and the next pass has them again.
      else failures.push(...failed.values());
      return batch.deleted;
    },
    hasMore: () => left.length > 0 || failures.length > 0,
  };
}

interface ScannedClients<Position> extends ScannedBatch<Position> {
  /** The clients whose records could not be examined, and why. */
  readonly failed: ReadonlyMap<string, unknown>;
}

/** All clients at once, so all of them may fail; on a distributed PostgreSQL client by client, until it is full. */
async function scanClients<Position>(
  database: Database,
  batch: Batch<Position>,
  scan: ScanClients<Position>,
): Promise<ScannedClients<Position>> {
  const failed = new Map<string, unknown>();
  if (!database.distributed) {
    try {
      return { ...(await scan(database, batch)), failed };
    } catch (error) {
      for (const { clientId } of batch.clients) failed.set(clientId, error);
      return { deleted: 0, isFull: false, positions: [], failed };
    }
  }
  const positions: ClientPosition<Position>[] = [];
  let deleted = 0;
  for (const client of batch.clients) {
    const { clientId } = client;
    const limit = batch.limit - deleted;
    if (limit <= 0) return { deleted, isFull: true, positions, failed };
    try {
      const own = await scan(databaseOfClient(database, clientId), { ...batch, limit, clients: [client] });
      deleted += own.deleted;
      positions.push(...own.positions);
      if (own.isFull) return { deleted, isFull: true, positions, failed };
    } catch (error) {
      failed.set(clientId, error);
    }
  }
  return { deleted, isFull: false, positions, failed };
}
