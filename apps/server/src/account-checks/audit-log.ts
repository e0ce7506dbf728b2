import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { insertAccountChecks, type NewAccountCheck } from '../postgres/account-checks.ts';
import { type Database, DatabaseUnavailable } from '../postgres/database.ts';

/**
 * A record of every check. They are gathered and written together, so a process that is killed loses those of its last
 * tenth of a second. While PostgreSQL cannot answer they wait.
 */
export interface AuditLog {
  /** @throws DatabaseUnavailable when too many wait to be written: rather no check than one that leaves no record. */
  requireRoom(): void;
  add(check: NewAccountCheck): void;
  /** Writes what is left, for some seconds. */
  close(): Promise<void>;
}

export interface AuditLogDependencies {
  readonly database: Database;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'auditRecordsPending'>;
  /** How many may wait. */
  readonly waitingMax?: number;
}

const GATHER_MS = 100;
const BATCH_MAX = 500;
/** Some 25 MB. */
const WAITING_MAX = 50_000;
const RETRY_MS = 250;
const CLOSE_TIMEOUT_MS = 5_000;
const FIRST_ID_MAX = 2 ** 48 - 1;

export function createAuditLog(dependencies: AuditLogDependencies): AuditLog {
  const { database, log, metrics, waitingMax = WAITING_MAX } = dependencies;
  let gathered: NewAccountCheck[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | null = null;
  let failing = false;
  // No other process counts from there, so no two records of a client and a moment have the same number.
  let nextId = randomInt(FIRST_ID_MAX);

  async function writeBatch(): Promise<void> {
    const batch = gathered.slice(0, BATCH_MAX);
    try {
      await insertAccountChecks(database, nextId, batch);
      nextId += batch.length;
      gathered = gathered.slice(batch.length);
      if (failing) log.info({ waiting: gathered.length }, 'records of account checks are written again');
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ err: error }, 'records of account checks cannot be written: they wait');
      failing = true;
    }
    metrics.auditRecordsPending.set(gathered.length);
    if (failing) await wait(RETRY_MS);
    writing = null;
    plan();
  }

  function write(): void {
    clearTimeout(timer);
    timer = undefined;
    writing ??= writeBatch();
  }

  function plan(): void {
    if (writing !== null || gathered.length === 0) return;
    if (gathered.length >= BATCH_MAX) write();
    else timer ??= setTimeout(write, GATHER_MS);
  }

  return {
    requireRoom() {
      if (gathered.length >= waitingMax) throw new DatabaseUnavailable('too many records wait to be written', false);
    },
    add(check) {
      gathered.push(check);
      plan();
    },
    async close() {
      const deadlineMs = performance.now() + CLOSE_TIMEOUT_MS;
      while (gathered.length > 0 && performance.now() < deadlineMs) {
        write();
        await writing;
      }
      clearTimeout(timer);
      if (gathered.length > 0) log.error({ lost: gathered.length }, 'account checks have left no record');
    },
  };
}
