import type { EventKind } from '../domain/event.ts';
import { keyOf } from '../domain/identifiers.ts';
import { applyUpdate, type Transaction, type UpdateContext } from '../domain/transaction.ts';
import type { Query } from '../postgres/database.ts';
import type { StatusUpdateRecord } from '../postgres/status-updates.ts';
import { findTransactionsByReference, lockTransactions } from '../postgres/transactions.ts';
import type { AppliedUpdate, ReceivedUpdate } from './received-update.ts';

/** What a batch of words comes to, before any of it is written. */
export interface UpdatePlan {
  readonly applied: AppliedUpdate[];
  /** `before` is null for these. */
  readonly inserted: Change[];
  readonly changed: Change[];
  /** Something was learnt that the client never sees. */
  readonly annotated: Transaction[];
  readonly statusUpdates: StatusUpdateRecord[];
}

export interface Change {
  readonly before: Transaction | null;
  readonly transaction: Transaction;
  /** In their order; several when one batch says several things of one transaction. */
  readonly events: readonly EventKind[];
}

/** Locks what the words are about and lets the state machine decide, word by word, in their order. */
export async function decide(
  query: Query,
  words: readonly ReceivedUpdate[],
  circumstances: UpdateContext,
): Promise<UpdatePlan> {
  const stored = new Map<string, Transaction>();
  const keys = new Map(words.map(({ update }) => [keyOf(update.clientId, update.transactionId), update]));
  for (const transaction of await lockTransactions(query, [...keys.values()])) {
    stored.set(keyOf(transaction.clientId, transaction.transactionId), transaction);
  }
  const holders = await holdersOfNewReferences(query, words, stored);

  const known = new Map(stored);
  const events = new Map<string, EventKind[]>();
  const applied: AppliedUpdate[] = [];
  const statusUpdates: StatusUpdateRecord[] = [];
  for (const { line, raw, update, source } of words) {
    const { clientId, transactionId } = update;
    const key = keyOf(clientId, transactionId);
    const observed = applyUpdate(known.get(key) ?? null, update, circumstances);
    let { outcome } = observed;
    let reason = 'reason' in observed ? observed.reason : null;
    let about = transactionId;

    if (observed.outcome === 'inserted') {
      const reference = keyOf(clientId, observed.transaction.referenceId);
      const holder = holders.get(reference);
      if (holder !== undefined && holder !== transactionId) {
        outcome = 'conflict';
        reason = `reference_id belongs to the transaction ${holder}`;
        about = holder;
      } else {
        holders.set(reference, transactionId);
      }
    }
    if (outcome === observed.outcome) {
      if ('transaction' in observed) known.set(key, observed.transaction);
      if ('events' in observed) events.set(key, [...(events.get(key) ?? []), ...observed.events]);
    }
    applied.push({ line, transactionId, outcome, reason });
    // A word that makes no transaction has nothing that it could be kept with.
    if (outcome !== 'rejected') statusUpdates.push({ clientId, transactionId: about, source, raw, outcome, reason });
  }

  const draft: UpdatePlan = { applied, inserted: [], changed: [], annotated: [], statusUpdates };
  for (const [key, transaction] of known) {
    const before = stored.get(key) ?? null;
    if (before === transaction) continue;
    const change = { before, transaction, events: events.get(key) ?? [] };
    if (before === null) draft.inserted.push(change);
    else if (change.events.length > 0) draft.changed.push(change);
    else draft.annotated.push(transaction);
  }
  return draft;
}

/** Client and reference to the transaction that has it, for the references that this batch would be the first to use. */
async function holdersOfNewReferences(
  query: Query,
  words: readonly ReceivedUpdate[],
  stored: ReadonlyMap<string, Transaction>,
): Promise<Map<string, string>> {
  const wanted = words.flatMap(({ update: { clientId, transactionId, referenceId } }) =>
    referenceId === undefined || stored.has(keyOf(clientId, transactionId)) ? [] : [{ clientId, referenceId }],
  );
  if (wanted.length === 0) return new Map();
  const holders = await findTransactionsByReference(query, wanted);
  return new Map(holders.map((each) => [keyOf(each.clientId, each.referenceId), each.transactionId]));
}
