import { applyUpdate, type UpdateContext, type UpdateResult } from '../domain/apply-update.ts';
import type { EventKind } from '../domain/event.ts';
import { keyOf } from '../domain/identifiers.ts';
import type { StatusUpdate, Transaction } from '../domain/transaction.ts';
import type { Query } from '../postgres/database.ts';
import type { StatusUpdateRecord } from '../postgres/status-updates.ts';
import { findTransactionsByReference, lockTransactions } from '../postgres/transactions.ts';
import { eraseReceived } from './erased-updates.ts';

/** A status update with its position in the input, its original text and its source. */
export interface ReceivedUpdate {
  /** From 1: the line of an NDJSON feed, or the position in a JSON array. */
  readonly line: number;
  /** JSON text, as received. */
  readonly raw: string;
  readonly update: StatusUpdate;
  /** Who reported it: the client_id of a feed, or `rail:` and a rail's name. */
  readonly source: string;
}

/** The outcome of a received update. */
export interface AppliedUpdate {
  readonly line: number;
  readonly transactionId: string;
  readonly outcome: UpdateResult['outcome'];
  /** Why it was not applied, or which of its fields were not; null if all of it was. */
  readonly reason: string | null;
}

/** Everything that a batch of status updates changes, before any of it is written. */
export interface UpdatePlan {
  readonly applied: AppliedUpdate[];
  /** `before` is null for these. */
  readonly inserted: Change[];
  readonly changed: Change[];
  /** Transactions with a change that the client never sees. */
  readonly annotated: Transaction[];
  readonly statusUpdates: StatusUpdateRecord[];
}

export interface Change {
  readonly before: Transaction | null;
  readonly transaction: Transaction;
  /** In order; several if one batch holds several updates of the transaction. */
  readonly events: readonly EventKind[];
}

export interface DecisionContext extends UpdateContext {
  /**
   * Whether to look for stored transactions that hold the reference IDs of new ones. They are so rare that a first
   * attempt leaves them to the unique keys.
   */
  readonly looksForHolders: boolean;
}

/** Locks the transactions that the updates refer to and lets the state machine decide each update, in order. */
export async function decide(
  query: Query,
  updates: readonly ReceivedUpdate[],
  context: DecisionContext,
): Promise<UpdatePlan> {
  const stored = new Map<string, Transaction>();
  const keys = new Map(updates.map(({ update }) => [keyOf(update.clientId, update.transactionId), update]));
  for (const transaction of await lockTransactions(query, [...keys.values()])) {
    stored.set(keyOf(transaction.clientId, transaction.transactionId), transaction);
  }
  const holders = context.looksForHolders
    ? await findHoldersOfNewReferences(query, updates, stored)
    : new Map<string, string>();

  const known = new Map(stored);
  const events = new Map<string, EventKind[]>();
  const applied: AppliedUpdate[] = [];
  const statusUpdates: StatusUpdateRecord[] = [];
  for (const received of updates) {
    const { clientId, transactionId } = received.update;
    const key = keyOf(clientId, transactionId);
    const before = known.get(key) ?? null;
    const { line, raw, update, source } = before === null ? received : eraseReceived(before, received);
    const result = applyUpdate(before, update, context);
    let { outcome } = result;
    let reason = 'reason' in result ? result.reason : (result.difference ?? null);
    let recordedId = transactionId;

    if (result.outcome === 'inserted') {
      const reference = keyOf(clientId, result.transaction.referenceId);
      const holder = holders.get(reference);
      if (holder !== undefined && holder !== transactionId) {
        outcome = 'conflict';
        reason = `reference_id belongs to the transaction ${holder}`;
        recordedId = holder;
      } else {
        holders.set(reference, transactionId);
      }
    }
    if (outcome === result.outcome) {
      if ('transaction' in result) known.set(key, result.transaction);
      if ('events' in result) events.set(key, [...(events.get(key) ?? []), ...result.events]);
    }
    applied.push({ line, transactionId, outcome, reason });
    // A rejected update creates no transaction, so there is none to record it with.
    if (outcome !== 'rejected') {
      statusUpdates.push({ clientId, transactionId: recordedId, source, raw, outcome, reason });
    }
  }
  return { applied, ...changesBetween(stored, known, events), statusUpdates };
}

function changesBetween(
  stored: ReadonlyMap<string, Transaction>,
  known: ReadonlyMap<string, Transaction>,
  events: ReadonlyMap<string, readonly EventKind[]>,
): Pick<UpdatePlan, 'inserted' | 'changed' | 'annotated'> {
  const changes: Pick<UpdatePlan, 'inserted' | 'changed' | 'annotated'> = { inserted: [], changed: [], annotated: [] };
  for (const [key, transaction] of known) {
    const before = stored.get(key) ?? null;
    if (before === transaction) continue;
    const change = { before, transaction, events: events.get(key) ?? [] };
    if (before === null) changes.inserted.push(change);
    else if (change.events.length > 0) changes.changed.push(change);
    else changes.annotated.push(transaction);
  }
  return changes;
}

/** Client and reference to the transaction that has the reference, for references that this batch would use first. */
async function findHoldersOfNewReferences(
  query: Query,
  updates: readonly ReceivedUpdate[],
  stored: ReadonlyMap<string, Transaction>,
): Promise<Map<string, string>> {
  const newReferences = updates.flatMap(({ update: { clientId, transactionId, referenceId } }) =>
    referenceId === undefined || stored.has(keyOf(clientId, transactionId)) ? [] : [{ clientId, referenceId }],
  );
  if (newReferences.length === 0) return new Map();
  const holders = await findTransactionsByReference(query, newReferences);
  return new Map(holders.map((each) => [keyOf(each.clientId, each.referenceId), each.transactionId]));
}
