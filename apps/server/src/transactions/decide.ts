import {
  applyUpdate,
  assumedInProcess,
  rejectionAsFirst,
  type UpdateContext,
  type UpdateResult,
} from '../domain/apply-update.ts';
import type { EventKind } from '../domain/event.ts';
import { areInKeyOrder, compareKeys, keyOf } from '../domain/identifiers.ts';
import type { StatusUpdate, Transaction } from '../domain/transaction.ts';
import { DatabaseContended, type Query } from '../postgres/database.ts';
import { isNamedByTransaction, type NewStatusUpdate } from '../postgres/status-updates.ts';
import { lockTransactions } from '../postgres/transaction-locks.ts';
import { findTransactionsByReference, type TransactionKey } from '../postgres/transactions.ts';
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
  readonly annotated: Change[];
  readonly statusUpdates: NewStatusUpdate[];
  /** What was assumed of at least one transaction. */
  readonly assumed: Readonly<Record<Assumption, boolean>>;
}

/**
 * What a batch may assume of a transaction, without a look: that an update which may be its first one is, or that an
 * update which ends it and says everything about it finds it as it says. Nearly always that is so, and writing the
 * batch finds out where it is not.
 */
export type Assumption = 'new' | 'in process';

export interface Change {
  /** As it is stored, or as it is assumed to be; null for a new one. */
  readonly before: Transaction | null;
  readonly transaction: Transaction;
  /** In order; several if one batch holds several updates of the transaction. */
  readonly events: readonly EventKind[];
  /** The updates that created it and that made it final, as positions in `statusUpdates`; null for none. */
  readonly insertedBy: number | null;
  readonly advancedBy: number | null;
}

export interface DecisionContext extends UpdateContext {
  readonly assumes: Readonly<Record<Assumption, boolean>>;
  /**
   * Whether to look for stored transactions that hold the reference IDs of new ones. They are so rare that a first
   * attempt leaves them to the unique keys.
   */
  readonly looksForHolders: boolean;
}

/** What is known of one transaction while a batch is decided. */
interface Entry extends TransactionKey {
  /** Of its first update in the batch. */
  readonly position: number;
  /** null: it has to be looked up. */
  assumption: Assumption | null;
  /** As it is stored; null for none. */
  stored: Transaction | null;
  known: Transaction | null;
  events: readonly EventKind[];
  insertedBy: number | null;
  advancedBy: number | null;
}

/** Locks the transactions that the updates refer to and lets the state machine decide each update, in order. */
export async function decide(
  query: Query,
  updates: readonly ReceivedUpdate[],
  context: DecisionContext,
): Promise<UpdatePlan> {
  const { own, entries } = entriesOf(updates, context);
  await readStored(query, entries);
  const holders = context.looksForHolders ? await findHoldersOfNewReferences(query, updates, own) : null;
  const decisions: Decisions = { applied: [], statusUpdates: [], holders, context };
  for (const [index, received] of updates.entries()) {
    const entry = own[index];
    if (entry !== undefined) decideEach(decisions, entry, received);
  }
  const { applied, statusUpdates } = decisions;
  return { applied, ...changesOf(entries), statusUpdates, assumed: assumptionsOf(entries) };
}

interface Decisions extends Pick<UpdatePlan, 'applied' | 'statusUpdates'> {
  /** See `findHoldersOfNewReferences`. null: the unique keys find out. */
  readonly holders: Map<string, Transaction> | null;
  readonly context: DecisionContext;
}

function decideEach(
  { applied, statusUpdates, holders, context }: Decisions,
  entry: Entry,
  received: ReceivedUpdate,
): void {
  const { clientId, transactionId } = received.update;
  const before = entry.known;
  // What is assumed was not read: it says what the updates say.
  const isRead = before !== null && entry.assumption === null;
  const { line, raw, update, source } = isRead ? eraseReceived(before, received) : received;
  const result = applyUpdate(before, update, context);
  const { outcome } = result;
  const holder = outcome === 'inserted' && holders !== null ? holdReference(holders, result.transaction) : null;
  if (holder !== null) {
    const { transactionId: holderId } = holder;
    const conflict = { outcome: 'conflict', reason: `reference_id belongs to the transaction ${holderId}` } as const;
    applied.push({ line, transactionId, ...conflict });
    const { raw: stored } = eraseReceived(holder, received);
    statusUpdates.push({ clientId, transactionId: holderId, source, raw: stored, ...conflict });
    return;
  }
  const reason = 'reason' in result ? result.reason : (result.difference ?? null);
  applied.push({ line, transactionId, outcome, reason });
  // A rejected update creates no transaction, so there is none to record it with.
  if (outcome === 'rejected') return;
  if ('transaction' in result) entry.known = result.transaction;
  if ('events' in result)
    entry.events = entry.events.length === 0 ? result.events : [...entry.events, ...result.events];
  const statusUpdate = { clientId, transactionId, source, raw, outcome, reason };
  if (isNamedByTransaction(statusUpdate)) {
    if (outcome === 'inserted') entry.insertedBy = statusUpdates.length;
    else entry.advancedBy = statusUpdates.length;
  }
  statusUpdates.push(statusUpdate);
}

/** The other transaction that holds the reference ID of a new one; null for none, and then the new one holds it. */
function holdReference(holders: Map<string, Transaction>, transaction: Transaction): Transaction | null {
  const { clientId, transactionId, referenceId } = transaction;
  const reference = keyOf(clientId, referenceId);
  const holder = holders.get(reference);
  if (holder !== undefined && holder.transactionId !== transactionId) return holder;
  holders.set(reference, transaction);
  return null;
}

/** @throws DatabaseContended when nothing is to be written that would find out whether an assumption holds */
function assumptionsOf(entries: Iterable<Entry>): Record<Assumption, boolean> {
  const assumed = { new: false, 'in process': false };
  for (const { assumption, stored, known } of entries) {
    if (assumption === null) continue;
    assumed[assumption] = true;
    if (assumption === 'in process' && stored === known) throw new DatabaseContended('an assumption is not tested');
  }
  return assumed;
}

interface Entries {
  /** Of each update. Updates of one transaction share one. */
  readonly own: readonly Entry[];
  /** In the order of the first update of each transaction. */
  readonly entries: readonly Entry[];
}

function entriesOf(updates: readonly ReceivedUpdate[], context: DecisionContext): Entries {
  const own = updates.map(({ update }, position) => entryOf(update, position, context));
  // Most cores feed transactions in the order of their IDs.
  if (areInKeyOrder(own)) return { own, entries: own };
  shareEntries(own);
  return { own, entries: own.filter((entry, position) => entry.position === position) };
}

/**
 * Gives the updates of one transaction its first entry. Sorted, they are side by side; they mostly arrive nearly in
 * that order, and then sorting costs a fraction of a map, for which V8 copies each key.
 */
function shareEntries(own: Entry[]): void {
  let first: Entry | undefined;
  for (const entry of own.toSorted(compareKeys)) {
    if (first === undefined || compareKeys(first, entry) !== 0) first = entry;
    else {
      own[entry.position] = first;
      // What one update says is not enough to judge another one by, unless both may be the first one.
      if (first.assumption !== 'new' || entry.assumption !== 'new') forgetAssumption(first);
    }
  }
}

const NO_EVENTS: readonly EventKind[] = [];

function entryOf(update: StatusUpdate, position: number, context: DecisionContext): Entry {
  const { clientId, transactionId } = update;
  const assumed = context.assumes['in process'] ? assumedInProcess(update, context) : null;
  const isNew = assumed === null && context.assumes.new && mayBeFirst(update);
  return {
    clientId,
    transactionId,
    position,
    assumption: isNew ? 'new' : assumed && 'in process',
    stored: assumed,
    known: assumed,
    events: NO_EVENTS,
    insertedBy: null,
    advancedBy: null,
  };
}

function forgetAssumption(entry: Entry): void {
  entry.assumption = null;
  entry.stored = entry.known = null;
}

async function readStored(query: Query, entries: readonly Entry[]): Promise<void> {
  const unknown = entries.filter(({ assumption }) => assumption === null);
  if (unknown.length === 0) return;
  const byKey = new Map(unknown.map((entry) => [keyOf(entry.clientId, entry.transactionId), entry]));
  for (const transaction of await lockTransactions(query, unknown)) {
    const entry = byKey.get(keyOf(transaction.clientId, transaction.transactionId));
    if (entry !== undefined) entry.stored = entry.known = transaction;
  }
}

/**
 * An update that ends a transaction is rarely its first one. One that would be rejected as the first one inserts
 * nothing, so no unique key would find out that it is a later one.
 */
export const mayBeFirst = (update: StatusUpdate): boolean =>
  update.status === 'PROCESS' && rejectionAsFirst(update) === null;

function changesOf(entries: Iterable<Entry>): Pick<UpdatePlan, 'inserted' | 'changed' | 'annotated'> {
  const changes: Pick<UpdatePlan, 'inserted' | 'changed' | 'annotated'> = { inserted: [], changed: [], annotated: [] };
  for (const { stored: before, known: transaction, events, insertedBy, advancedBy } of entries) {
    if (transaction === null || before === transaction) continue;
    const change = { before, transaction, events, insertedBy, advancedBy };
    if (before === null) changes.inserted.push(change);
    else if (events.length > 0) changes.changed.push(change);
    else changes.annotated.push(change);
  }
  return changes;
}

/** Client and reference to the transaction that has the reference, for references that this batch would use first. */
async function findHoldersOfNewReferences(
  query: Query,
  updates: readonly ReceivedUpdate[],
  entries: readonly Entry[],
): Promise<Map<string, Transaction>> {
  const newReferences = updates.flatMap(({ update: { clientId, referenceId } }, index) =>
    referenceId === undefined || entries[index]?.stored !== null ? [] : [{ clientId, referenceId }],
  );
  if (newReferences.length === 0) return new Map();
  const found = await findTransactionsByReference(query, newReferences);
  if (found.length === 0) return new Map();
  // Until the conflict is stored, the retention must not delete the transaction, and `person erase` must not erase it.
  // These locks come after those of the batch's own transactions, so they may deadlock with another feed's. PostgreSQL
  // then aborts one of the two, and its batch is applied again.
  const holders = await lockTransactions(query, found);
  return new Map(holders.map((each) => [keyOf(each.clientId, each.referenceId), each]));
}
