import { setTimeout as wait } from 'node:timers/promises';
import { observeTime, type Transaction } from '../domain/transaction.ts';
import { type Database, DatabaseContended, type Query } from '../postgres/database.ts';
import { findExpectedBy, lockTransactions } from '../postgres/transactions.ts';
import { type Draft, decide } from './decide.ts';
import { record } from './record.ts';
import type { Applied, SaidWord } from './said-word.ts';
import { createTogether } from './together.ts';

export interface LedgerParts {
  readonly database: Database;
  /** How long the bank of this code is expected to take. */
  readonly expectedMs: (bankCode: string) => number;
  /** How long a bank is left alone before it is asked about a transfer. */
  readonly firstInquiryMs: number;
}

/** What is known of transactions, kept true: every way in which one of them can change goes through here. */
export interface Ledger {
  /**
   * Applies words in their order: new state, observations, events and callbacks, all in one database transaction.
   * Applying the same words again changes nothing, so a caller that does not know whether it succeeded repeats it.
   * @throws DatabaseUnavailable when it is not known to have been stored.
   */
  apply(words: readonly SaidWord[], now?: Date): Promise<Applied[]>;
  /** The same, together with what others have to say at the same time. */
  applyTogether(words: readonly SaidWord[]): Promise<Applied[]>;
  /** Finds what has become overdue by `now`; how many there were, at most `limit`. */
  observeTime(now: Date, limit: number): Promise<number>;
}

/** Somebody else may insert the same transactions at the same time; after that they are simply known. */
const ATTEMPTS_MAX = 5;
const OVERTAKEN = 'somebody else inserted one of these transactions meanwhile';
/** Who says that a transaction is overdue. */
const CLOCK = 'clock';

export function createLedger({ database, expectedMs, firstInquiryMs }: LedgerParts): Ledger {
  async function store(query: Query, draft: Draft, now: Date): Promise<void> {
    const firstInquiryAt = new Date(now.getTime() + firstInquiryMs).toISOString();
    if (!(await record(query, draft, { now: now.toISOString(), firstInquiryAt }))) {
      throw new DatabaseContended(OVERTAKEN);
    }
  }

  async function apply(words: readonly SaidWord[], now = new Date()): Promise<Applied[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await database.transaction(async (query) => {
          const draft = await decide(query, words, { now: now.toISOString(), expectedMs });
          await store(query, draft, now);
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
    applyTogether: createTogether(apply),

    observeTime: (now, limit) =>
      database.transaction(async (query) => {
        const keys = await findExpectedBy(query, now.toISOString(), limit);
        // Locked and read again: it may have become final, or somebody else may have called it overdue.
        const known = keys.length === 0 ? [] : await lockTransactions(query, keys);
        const draft = draftOf(known, now.toISOString());
        await store(query, draft, now);
        return draft.changed.length;
      }),
  };
}

function draftOf(known: readonly Transaction[], now: string): Draft {
  const draft: Draft = { applied: [], inserted: [], changed: [], annotated: [], observations: [] };
  for (const before of known) {
    const observed = observeTime(before, now);
    if (observed.outcome !== 'overdue') continue;
    const { transaction, events } = observed;
    draft.changed.push({ before, transaction, events });
    const { clientId, transactionId, expectedBy } = before;
    const said = JSON.stringify({ expected_by: expectedBy });
    draft.observations.push({ clientId, transactionId, source: CLOCK, said, outcome: 'overdue', reason: null });
  }
  return draft;
}
