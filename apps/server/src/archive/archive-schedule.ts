import { setTimeout as wait } from 'node:timers/promises';
import { repeat } from '../lib/repeat.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import type { ArchiveFile } from '../postgres/archive-files.ts';
import { type Database, readDatabaseTime } from '../postgres/database.ts';
import { createLease, type HeldLease, type Lease } from '../postgres/leases.ts';
import { archiveTransactions } from './archive-transactions.ts';

const INTERVAL_MS = 10 * 60_000;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** Longer than reading some hundred histories takes. */
const LEASE_MS = 60_000;
/** As the retention: at most a fifth of the time of one connection. */
const PAUSES_PER_RANGE = 4;

export interface ArchiveScheduleOptions {
  readonly database: Database;
  readonly directory: string;
  readonly days: number;
  readonly onFiles: (files: readonly ArchiveFile[]) => void;
  /** All that is due is archived. */
  readonly onComplete: () => void;
  readonly log: Log;
}

/** Of all processes and commands, the one that has this lease changes the archive. */
const createArchiveLease = (database: Database): Lease => createLease(database, 'archive', LEASE_MS);

/** Runs `work` with a lease that it renews by `hold`, and that ends with it. */
export async function withArchiveLease<T>(database: Database, work: (lease: HeldLease) => Promise<T>): Promise<T> {
  const lease = createArchiveLease(database);
  try {
    return await work(lease);
  } finally {
    await lease.release();
  }
}

/**
 * The end of what is archived: the beginning of the month, in UTC, that `days` ago belongs to. A client's month is then
 * archived as a whole, and not in a file a day.
 */
export function endOfArchive(now: Date, days: number): Date {
  const time = new Date(now.getTime() - days * DAY_MS);
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth()));
}

/** Archives, every ten minutes, what has become old enough on PostgreSQL's clock. */
export function startArchive({ database, directory, days, onFiles, onComplete, log }: ArchiveScheduleOptions): {
  stop(): Promise<void>;
} {
  const stopping = new AbortController();
  const { signal } = stopping;
  async function archive(): Promise<void> {
    const before = endOfArchive(await readDatabaseTime(database), days);
    const pause = (durationMs: number): Promise<void> =>
      wait(durationMs * PAUSES_PER_RANGE, undefined, { signal }).catch(() => {});
    const onClientError = (clientId: string, err: unknown): void =>
      log.error({ err, clientId }, 'archiving transactions of a client failed; its retention waits for it; will retry');
    const { transactions, files, isComplete, failedClients } = await withArchiveLease(database, (lease) =>
      archiveTransactions({ database, directory, before, lease, signal, onFiles, onClientError, pause }),
    );
    if (files > 0) log.info({ transactions, files, before }, 'transactions archived');
    if (isComplete && failedClients === 0) onComplete();
  }

  const failures = createFailureLog(log, 'archiving transactions failed; the retention waits for it; will retry');
  const repeated = repeat(INTERVAL_MS, archive, failures);
  repeated.now();
  return {
    async stop() {
      stopping.abort();
      await repeated.stop();
    },
  };
}
