import { createTransferClock } from './clock.ts';
import { NO_JOURNAL, openJournal } from './journal.ts';
import type { JournalEntry } from './journal-entry.ts';
import { scenarioOf, statusAt, type TransferStatus } from './scenario.ts';
import { createSchedule } from './schedule.ts';
import type { Transfer, TransferOrder } from './transfer.ts';
import { createTransferStore, type TransferReferences } from './transfer-store.ts';

/** All transfers of a running bank, and their clock. */
export interface Transfers {
  accept(order: TransferOrder): Acceptance;
  find(references: TransferReferences): Transfer | null;
  /** The current status of a transfer. */
  statusOf(transfer: Transfer): TransferStatus;
  /** Advances the clock; false if the journal could not record it, in which case the clock is unchanged. */
  advanceClock(seconds: number): boolean;
  clock(): { readonly nowMs: number; readonly advancedSeconds: number };
  close(): void;
}

export type Acceptance =
  | { readonly kind: 'accepted'; readonly transfer: Transfer }
  /** The bank already has a transfer with this `partnerReferenceNo`. */
  | { readonly kind: 'duplicate' }
  /** The journal could not record it: no transfer was created. */
  | { readonly kind: 'not-stored' };

export interface TransfersDependencies {
  /** Null keeps the transfers in memory only. */
  readonly journalFile: string | null;
  /** The real time, in milliseconds since 1970. */
  readonly realNow: () => number;
  readonly nextReferenceNo: () => string;
  /** Called when a notification is due; null sends none. */
  readonly notify: ((transfer: Transfer, status: TransferStatus) => void) | null;
}

interface Notification {
  readonly transfer: Transfer;
  readonly status: TransferStatus;
}

/**
 * Restores the transfers and the clock from the journal. Rejects with a `JournalError` when the file cannot be used.
 */
export async function openTransfers(dependencies: TransfersDependencies): Promise<Transfers> {
  const { journalFile, notify } = dependencies;
  const clock = createTransferClock(dependencies.realNow);
  const store = createTransferStore();
  const schedule = createSchedule<Notification>(clock.now, ({ transfer, status }) => notify?.(transfer, status));

  function replay(entry: JournalEntry): void {
    if (entry.entry === 'push') return clock.advance(entry.advancedSeconds * 1000);
    clock.advanceTo(entry.transfer.acceptedAtMs);
    store.add(entry.transfer, clock.now());
  }

  function scheduleAfter(afterMs: number, transfer: Transfer): void {
    if (notify === null) return;
    for (const { afterSeconds, status } of scenarioOf(transfer).notifications) {
      const dueAtMs = transfer.acceptedAtMs + afterSeconds * 1000;
      if (dueAtMs > afterMs) schedule.add(dueAtMs, { transfer, status });
    }
  }

  const journal = journalFile === null ? NO_JOURNAL : await openJournal(journalFile, replay);
  const openedAtMs = clock.now();
  // Notifications that became due while the bank was down are not sent: to the partner they are lost notifications.
  for (const transfer of store.all()) scheduleAfter(openedAtMs, transfer);

  return {
    accept(order) {
      const acceptedAtMs = clock.now();
      if (store.has(order.partnerReferenceNo, acceptedAtMs)) return { kind: 'duplicate' };
      const transfer = { ...order, referenceNo: dependencies.nextReferenceNo(), acceptedAtMs };
      if (!journal.append({ entry: 'transfer', transfer })) return { kind: 'not-stored' };
      store.add(transfer, acceptedAtMs);
      scheduleAfter(acceptedAtMs, transfer);
      return { kind: 'accepted', transfer };
    },
    find: (references) => store.find(references, clock.now()),
    statusOf: (transfer) => statusAt(transfer, clock.now()),
    advanceClock(seconds) {
      if (seconds > 0 && !journal.append({ entry: 'push', advancedSeconds: seconds })) return false;
      clock.advance(seconds * 1000);
      schedule.runDue();
      return true;
    },
    clock: () => ({ nowMs: clock.now(), advancedSeconds: clock.advancedMs() / 1000 }),
    close() {
      schedule.close();
      journal.close();
    },
  };
}
