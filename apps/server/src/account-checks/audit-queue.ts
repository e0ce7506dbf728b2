import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../observability/log.ts';
import { insertAccountChecks, type NewAccountCheck } from '../postgres/account-checks.ts';
import type { Database } from '../postgres/database.ts';

/** Audit records that wait to be stored, and are stored in batches. */
export interface AuditQueue {
  add(check: NewAccountCheck): void;
  /** How many records wait. */
  pending(): number;
  /** Whether the last batch could not be stored. */
  isFailing(): boolean;
  /** As `AuditLog.close`. Returns how many records are lost. */
  close(): Promise<number>;
}

export interface AuditQueueDependencies {
  readonly database: Database;
  readonly log: Log;
  /** Called after each batch. */
  readonly onBatch: () => void;
  /** How long `close` tries again without writing a batch. */
  readonly giveUpAfterMs: number;
}

const FLUSH_DELAY_MS = 100;
const BATCH_MAX = 500;
const RETRY_DELAY_MS = 250;
const CLOSE_TIMEOUT_MS = 10_000;
const FIRST_ID_MAX = 2 ** 48 - 1;

export function createAuditQueue({ database, log, onBatch, giveUpAfterMs }: AuditQueueDependencies): AuditQueue {
  let pending: NewAccountCheck[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | null = null;
  let failing = false;
  let closed = false;
  // Each queue counts from a random number, so no two records of one client at one time have the same ID.
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
    onBatch();
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
    add(check) {
      pending.push(check);
      schedule();
    },
    pending: () => pending.length,
    isFailing: () => failing,
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
      return pending.length;
    },
  };
}
