import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { NewAccountCheck } from '../postgres/account-checks.ts';
import { type Database, DatabaseUnavailable } from '../postgres/database.ts';
import { type AuditQueue, createAuditQueue } from './audit-queue.ts';

/**
 * One audit record for each account check. Records are written in batches, so a process that is killed loses the
 * records of its last tenth of a second. While PostgreSQL is unavailable the records wait in memory.
 */
export interface AuditLog {
  /** @throws DatabaseUnavailable when too many audit records are pending: no check without its audit record. */
  requireCapacity(clientId: string): void;
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

/** About 25 MB. */
const PENDING_MAX = 50_000;
const GIVE_UP_AFTER_MS = 5_000;

export function createAuditLog(dependencies: AuditLogDependencies): AuditLog {
  const { database, log, metrics, pendingMax = PENDING_MAX, giveUpAfterMs = GIVE_UP_AFTER_MS } = dependencies;
  // On a distributed database one for each client: a node that is away stops the records of its own clients only.
  const queues = new Map<string, AuditQueue>();

  function queueOf(clientId: string): AuditQueue {
    const key = database.distributed ? clientId : '';
    const known = queues.get(key);
    if (known !== undefined) return known;
    const onBatch = (): void => metrics.auditRecordsPending.set(pendingIn([...queues.values()]));
    const created = createAuditQueue({ database, log, onBatch, giveUpAfterMs });
    queues.set(key, created);
    return created;
  }

  return {
    requireCapacity(clientId) {
      const isFailing = queueOf(clientId).isFailing();
      // What waits for a node that is away takes no place from what can be stored.
      const alike = queues.values().filter((queue) => queue.isFailing() === isFailing);
      if (pendingIn(alike) >= pendingMax) throw new DatabaseUnavailable('too many audit records are pending', false);
    },
    add: (check) => queueOf(check.client_id).add(check),
    async close() {
      const lost = await Promise.all(queues.values().map((queue) => queue.close()));
      const total = lost.reduce((sum, each) => sum + each, 0);
      if (total > 0) log.error({ lost: total }, 'audit records lost at shutdown');
    },
  };
}

const pendingIn = (queues: Iterable<AuditQueue>): number =>
  Iterator.from(queues).reduce((sum, queue) => sum + queue.pending(), 0);
