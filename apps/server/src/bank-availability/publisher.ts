import { type Bank, type BankDirectory, bankCodeOf, bicOf } from '../domain/bank.ts';
import { repeat } from '../lib/repeat.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import {
  type BankAvailability,
  changeBankAvailability,
  claimPendingNotice,
  listBankAvailability,
  type PendingBankNotice,
  recordNotified,
} from '../postgres/bank-availability.ts';
import { findClientsWithScope } from '../postgres/clients.ts';
import type { Database } from '../postgres/database.ts';
import { insertEvents, type NewEvent } from '../postgres/events.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import { bankHealths } from '../rails/bank-status.ts';
import { createAvailabilityMonitor } from './monitor.ts';

/**
 * Notifies clients when no rail to a bank answers any more, and when one answers again. Inquiries pay nothing for it:
 * once a second, their results are compared with the status that clients were last notified of. Every process does so.
 * The first process that sees a change publishes it, and the others find it published.
 */
export interface AvailabilityPublisher {
  /** Stops, and resolves when the batch in progress has ended. */
  close(): Promise<void>;
}

export interface AvailabilityPublisherDependencies {
  readonly database: Database;
  readonly inquiries: Pick<AccountInquiries, 'snapshot'>;
  readonly banks: BankDirectory;
  /** Of the same clock as the times of `inquiries`: milliseconds since 1970. It must not jump. */
  readonly now: () => number;
  readonly log: Log;
  readonly times?: AvailabilityTimes;
}

/** In milliseconds. */
export interface AvailabilityTimes {
  /** Between two evaluations. */
  readonly intervalMs: number;
  /** How long a status must last to be published. */
  readonly stableMs: number;
  /** Between two times at which counts of inquiries are stored (hourly-counts.ts). */
  readonly storeIntervalMs?: number;
}

const INTERVAL_MS = 1_000;

export function startAvailabilityPublisher({
  database,
  inquiries,
  banks,
  now,
  log,
  times,
}: AvailabilityPublisherDependencies): AvailabilityPublisher {
  const monitor = createAvailabilityMonitor(times?.stableMs);
  let closing = false;

  async function publishChanges(): Promise<void> {
    const current = monitor.evaluate(bankHealths(inquiries.snapshot()), now());
    const known = await listBankAvailability(database);
    // Includes changes that a process began to publish before it ended.
    const unpublished = known.filter(({ isPublished }) => !isPublished).map(({ bic }) => bic);
    for (const availability of current.filter((each) => isChange(each, known))) {
      if (!(await changeBankAvailability(database, availability))) continue;
      log.info({ bank: availability.bic, status: availability.status }, 'bank availability changed; notifying clients');
      unpublished.push(availability.bic);
    }
    for (const bic of unpublished) await notifyClients(bic);
  }

  async function notifyClients(bic: string): Promise<void> {
    const bank = banks.find(bic);
    if (bank === null) return;
    let mayBeMore = true;
    while (mayBeMore) mayBeMore = !closing && (await notifyClientBatch(database, bank));
  }

  const failures = createFailureLog(log, 'publishing bank availability failed; will retry');
  const loop = repeat(times?.intervalMs ?? INTERVAL_MS, publishChanges, failures);

  return {
    async close() {
      closing = true;
      await loop.stop();
    },
  };
}

/** A bank of which nothing was published is UP. */
const NEVER_PUBLISHED = { status: 'UP', ageMs: Number.POSITIVE_INFINITY } as const;

function isChange(availability: BankAvailability, known: readonly BankAvailability[]): boolean {
  const { status, ageMs } = known.find(({ bic }) => bic === availability.bic) ?? NEVER_PUBLISHED;
  return availability.status !== status && availability.ageMs < ageMs;
}

/**
 * The number of clients that are notified in one database transaction. Until it ends, other database transactions that
 * insert events of these clients wait: with a thousand clients and their endpoints at once, a feed would time out.
 */
const CLIENTS_PER_TRANSACTION = 100;

/** Notifies the next clients of the bank's status. Returns whether there may be more of them. */
function notifyClientBatch(database: Database, bank: Bank): Promise<boolean> {
  return database.transaction(async (query) => {
    const notice = await claimPendingNotice(query, bank.bic);
    if (notice === null) return false;
    const range = { after: notice.notifiedUpToClientId, limit: CLIENTS_PER_TRANSACTION };
    const clients = await findClientsWithScope(query, 'account:check', range);
    const isLast = clients.length < CLIENTS_PER_TRANSACTION;
    await recordNotified(query, bank.bic, isLast ? null : (clients.at(-1) ?? null));
    // Last, because this blocks other database transactions that insert events of the same clients.
    await insertEvents(query, clients.map(newEventFor(bank, notice)), notice.now);
    return !isLast;
  });
}

function newEventFor(bank: Bank, { status, version, since }: PendingBankNotice): (clientId: string) => NewEvent {
  const { bic, name } = bank;
  const kind = status === 'UP' ? 'bank.up' : 'bank.down';
  const data = JSON.stringify({ bank_code: bankCodeOf(bank), bic: bicOf(bank), bank_name: name, status, since });
  return (clientId) => ({ clientId, subjectId: bic, version, kind, data });
}
