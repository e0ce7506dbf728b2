import { setTimeout as wait } from 'node:timers/promises';
import type { InTurn } from '../../lib/in-turn.ts';
import { repeat } from '../../lib/repeat.ts';
import { createFailureLog } from '../../observability/failure-log.ts';
import type { Log } from '../../observability/log.ts';
import { type Database, readDatabaseTime } from '../database.ts';
import { createLease } from '../leases.ts';

const INTERVAL_MS = 60_000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Longer than a batch takes. When its holder dies, another process goes on after it. */
const LEASE_MS = 30_000;
/**
 * How many records most kinds delete in a batch. Requests that come meanwhile share the processors with it, so it takes
 * some milliseconds. Of fewer records, most of the time would go into the statements themselves.
 */
export const RECORDS_PER_BATCH = 250;
const PAUSE_MIN_MS = 100;
const PAUSE_TO_BATCH_RATIO = 9;

/** How long to pause after a batch, so that deleting takes at most a tenth of the time of one connection. */
export const pauseMsAfter = (batchMs: number): number => Math.max(PAUSE_MIN_MS, batchMs * PAUSE_TO_BATCH_RATIO);

/** The batch without the time that it waits for its turn. */
export async function timed(deleteBatch: () => Promise<number>): Promise<{ count: number; durationMs: number }> {
  const startedMs = performance.now();
  const count = await deleteBatch();
  return { count, durationMs: performance.now() - startedMs };
}

export interface RetentionOptions {
  readonly database: Database;
  /** What is deleted: the name of the lease, and a label in the log and the metrics. */
  readonly records: string;
  readonly days: number;
  /** Deletes some records from before that time, few enough not to block others. Resolves to how many. */
  readonly deleteBatch: (before: Date) => Promise<number>;
  /** Whether records are left to examine (scan.ts). By default, some are left until a batch deletes none. */
  readonly hasMore?: () => boolean;
  /** The time of the oldest record; null when there is none. */
  readonly findOldest?: () => Promise<Date | null>;
  readonly onDeleted?: (count: number) => void;
  /** This process has deleted all that was too old and could go. */
  readonly onCompleted?: () => void;
  readonly onOldest?: (oldest: Date | null) => void;
  /** The same for all kinds of records: two batches at once would delay a request by both. */
  readonly inTurn: InTurn;
  readonly log: Log;
}

/**
 * Deletes records that are older than `days` on PostgreSQL's clock, in batches with pauses, once a minute. A process
 * whose own clock is ahead would delete records too early. Of several processes, the one that holds the lease deletes.
 * The turns are those of one process: of another one that holds the lease of another kind, a batch may run beside them.
 */
export function startRetention(options: RetentionOptions): { stop(): Promise<void> } {
  const { database, records, days, deleteBatch, inTurn, log } = options;
  const { hasMore, findOldest, onDeleted = () => {}, onCompleted = () => {}, onOldest = () => {} } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const lease = createLease(database, `retention of ${records}`, LEASE_MS);

  async function deleteOld(): Promise<void> {
    const before = new Date((await readDatabaseTime(database)).getTime() - days * DAY_MS);
    let deleted = 0;
    try {
      while (!signal.aborted && (await lease.hold())) {
        const { count, durationMs } = await inTurn(() => timed(() => deleteBatch(before)));
        deleted += count;
        if (count > 0) onDeleted(count);
        if (hasMore === undefined ? count === 0 : !hasMore()) {
          onCompleted();
          break;
        }
        await pause(pauseMsAfter(durationMs));
      }
    } finally {
      if (deleted > 0) log.info({ records, deleted, before }, 'old records deleted');
    }
    if (findOldest !== undefined && !signal.aborted) onOldest(await findOldest());
  }

  const pause = (ms: number): Promise<void> => wait(ms, undefined, { signal }).catch(() => {});

  const failures = createFailureLog(log, 'deleting old records failed; will retry', { records });
  const repeated = repeat(INTERVAL_MS, deleteOld, failures);
  return {
    async stop() {
      stopping.abort();
      await repeated.stop();
    },
  };
}
