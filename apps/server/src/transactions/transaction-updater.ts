import { setTimeout as wait } from 'node:timers/promises';
import { markOverdue, type Transaction } from '../domain/transaction.ts';
import { type Database, DatabaseContended, type Query } from '../postgres/database.ts';
import { findNewlyOverdue, lockTransactions } from '../postgres/transactions.ts';
import { decide, type UpdatePlan } from './decide.ts';
import { persist } from './persist.ts';
import type { AppliedUpdate, ReceivedUpdate } from './received-update.ts';
import { createUpdateBatcher } from './update-batcher.ts';

export interface TransactionUpdaterDependencies {
  readonly database: Database;
  /** How long the bank of this code is expected to take. */
  readonly expectedMs: (bankCode: string) => number;
  /** How long a bank is left alone before it is asked about a transfer. */
  readonly firstInquiryMs: number;
}

/** What is known of transactions, kept true: every way in which one of them can change goes through here. */
export interface TransactionUpdater {
  /**
   * Applies words in their order: new state, observations, events and callbacks, all in one database transaction.
   * Applying the same words again changes nothing, so a caller that does not know whether it succeeded repeats it.
   * @throws DatabaseUnavailable when it is not known to have been stored.
   */
  apply(words: readonly ReceivedUpdate[], now?: Date): Promise<AppliedUpdate[]>;
  /** The same, together with what others have to say at the same time. */
  applyBatched(words: readonly ReceivedUpdate[]): Promise<AppliedUpdate[]>;
  /** Finds what has become overdue by `now`; how many there were, at most `limit`. */
  markOverdue(now: Date, limit: number): Promise<number>;
}

/** Somebody else may insert the same transactions at the same time; after that they are simply known. */
const ATTEMPTS_MAX = 5;
const OVERTAKEN = 'somebody else inserted one of these transactions meanwhile';
/** Who says that a transaction is overdue. */
const CLOCK = 'clock';

export function createTransactionUpdater({
  database,
  expectedMs,
  firstInquiryMs,
}: TransactionUpdaterDependencies): TransactionUpdater {
  async function persistPlan(query: Query, draft: UpdatePlan, now: Date): Promise<void> {
    const firstInquiryAt = new Date(now.getTime() + firstInquiryMs).toISOString();
    if (!(await persist(query, draft, { now: now.toISOString(), firstInquiryAt }))) {
      throw new DatabaseContended(OVERTAKEN);
    }
  }

  async function apply(words: readonly ReceivedUpdate[], now = new Date()): Promise<AppliedUpdate[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await database.transaction(async (query) => {
          const draft = await decide(query, words, { now: now.toISOString(), expectedMs });
          await persistPlan(query, draft, now);
          return draft.applied;
        });
      } catch (error) {
        if (!(error instanceof DatabaseContended) || attempt === ATTEMPTS_MAX) throw error;
        await wait(0);
      }
    }
  }

  return {
    apply,
    applyBatched: createUpdateBatcher(apply),

    markOverdue: (now, limit) =>
      database.transaction(async (query) => {
        const keys = await findNewlyOverdue(query, now.toISOString(), limit);
        // Locked and read again: it may have become final, or somebody else may have called it overdue.
        const known = keys.length === 0 ? [] : await lockTransactions(query, keys);
        const draft = draftOf(known, now.toISOString());
        await persistPlan(query, draft, now);
        return draft.changed.length;
      }),
  };
}

function draftOf(known: readonly Transaction[], now: string): UpdatePlan {
  const draft: UpdatePlan = { applied: [], inserted: [], changed: [], annotated: [], statusUpdates: [] };
  for (const before of known) {
    const observed = markOverdue(before, now);
    if (observed.outcome !== 'overdue') continue;
    const { transaction, events } = observed;
    draft.changed.push({ before, transaction, events });
    const { clientId, transactionId, expectedBy } = before;
    const raw = JSON.stringify({ expected_by: expectedBy });
    draft.statusUpdates.push({ clientId, transactionId, source: CLOCK, raw, outcome: 'overdue', reason: null });
  }
  return draft;
}
