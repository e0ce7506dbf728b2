import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { insertAccountChecks, type NewAccountCheck } from '../postgres/account-checks.ts';
import { type Database, DatabaseUnavailable } from '../postgres/database.ts';

/**
 * One audit record for each account check. Records are written in batches, so a process that is killed loses the
 * records of its last tenth of a second. While PostgreSQL is unavailable the records wait in memory.
 */
export interface AuditLog {
  /** @throws DatabaseUnavailable when too many records are pending: no check without its audit record. */
  requireCapacity(): void;
  add(check: NewAccountCheck): void;
  /** Writes the pending records, for at most 10 seconds; gives up after 5 seconds without a written batch. */
  close(): Promise<void>;
}

export interface AuditLogDependencies {
  readonly database: Database;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'auditRecordsPending'>;
  /** How many records may be pending. */
  readonly pendingMax?: number;
  /** How long `close` tries again without writing a batch. */
  readonly giveUpAfterMs?: number;
}

const FLUSH_DELAY_MS = 100;
const BATCH_MAX = 500;
/** About 25 MB. */
const PENDING_MAX = 50_000;
const RETRY_DELAY_MS = 250;
const CLOSE_TIMEOUT_MS = 10_000;
const GIVE_UP_AFTER_MS = 5_000;
const FIRST_ID_MAX = 2 ** 48 - 1;

export function createAuditLog(dependencies: AuditLogDependencies): AuditLog {
  const { database, log, metrics, pendingMax = PENDING_MAX, giveUpAfterMs = GIVE_UP_AFTER_MS } = dependencies;
  let pending: NewAccountCheck[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | null = null;
  let failing = false;
  let closed = false;
  // Each process counts from a random number, so no two records of one client at one time have the same ID.
  let nextId = randomInt(FIRST_ID_MAX);

  async function writeBatch(): Promise<void> {
    const batch = pending.slice(0, BATCH_MAX);
    try {
      await insertAccountChecks(database, nextId, batch);
      nextId += batch.length;
      pending = pending.slice(batch.length);
      if (failing) log.info({ pending: pending.length }, 'writing audit records succeeds again');
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ err: error, pending: pending.length }, 'writing audit records failed; will retry');
      failing = true;
    }
    metrics.auditRecordsPending.set(pending.length);
    if (failing) await wait(RETRY_DELAY_MS);
    writing = null;
    schedule();
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    writing ??= writeBatch();
  }

  function schedule(): void {
    if (writing !== null || pending.length === 0 || closed) return;
    if (pending.length >= BATCH_MAX) flush();
    else timer ??= setTimeout(flush, FLUSH_DELAY_MS);
  }

  return {
    requireCapacity() {
      if (pending.length >= pendingMax) throw new DatabaseUnavailable('too many audit records are pending', false);
    },
    add(check) {
      pending.push(check);
      schedule();
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      const startedMs = performance.now();
      let writtenMs = startedMs;
      while (pending.length > 0) {
        const nowMs = performance.now();
        if (nowMs > startedMs + CLOSE_TIMEOUT_MS || nowMs > writtenMs + giveUpAfterMs) break;
        const pendingBefore = pending.length;
        flush();
        await writing;
        if (pending.length < pendingBefore) writtenMs = performance.now();
      }
      if (pending.length > 0) log.error({ lost: pending.length }, 'audit records lost at shutdown');
    },
  };
}
