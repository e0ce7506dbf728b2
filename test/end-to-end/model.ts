import { isDeepStrictEqual } from 'node:util';
import type { EventKind } from '../../apps/server/src/domain/event.ts';
import { DETAILS, detailsOf, FIRST_PLAIN, OTHER_AMOUNT, OTHER_NAME, WRONG_TOTAL } from './details.ts';

/**
 * The rules for statuses and events, written as plainly as possible and independently of the service's code: where the
 * two disagree, one of them is wrong.
 */

export type Outcome = 'inserted' | 'advanced' | 'unchanged' | 'conflict' | 'rejected';

/** A status update of a transaction. `index` is the transaction's index in DETAILS, here and in the other types. */
export interface Update {
  readonly index: number;
  readonly status: 'PROCESS' | 'SUCCESS' | 'FAILED';
  /** Has all the fields that a first update needs. */
  readonly complete: boolean;
  /** Its flaw, if any: every one except `right total` contradicts the stored transaction, or the update itself. */
  readonly flaw: 'none' | 'right total' | 'wrong total' | 'other amount' | 'other name' | 'reference of another';
  readonly processedAt: string | null;
  readonly failureReason: string | null;
  readonly reversedAt: string | null;
  readonly rail: string | null;
}

/** The details that must be equal in all updates of one transaction. */
export interface UpdateDetails {
  readonly referenceId: string;
  readonly amount: string;
  readonly total: string;
  readonly accountName: string;
}

/** Stands for a time that only the service knows: when it applied the update. */
export const TIME_APPLIED = 'time applied';

export interface ModelTransaction {
  readonly index: number;
  readonly details: UpdateDetails;
  status: 'PROCESS' | 'SUCCESS' | 'FAILED';
  processedAt: string | null;
  failureReason: string | null;
  reversedAt: string | null;
  rail: string | null;
  overdue: boolean;
  version: number;
}

export interface ModelEvent {
  readonly index: number;
  readonly version: number;
  readonly kind: EventKind;
}

export interface ModelEndpoint {
  readonly endpointId: string;
  readonly path: string;
  kinds: readonly EventKind[];
  enabled: boolean;
  /** Each with the time (Unix ms) from which it signs; the one before it also signs for another day. */
  readonly secrets: { readonly secret: string; readonly from: number }[];
  /** IDs of the events that have to be delivered to it. */
  readonly due: Set<string>;
  /** Replayed events, with how often each had arrived before. */
  readonly replays: { readonly eventId: string; readonly arrivals: number }[];
}

export interface Model {
  readonly transactions: Map<number, ModelTransaction>;
  /** By event ID. */
  readonly events: Map<string, ModelEvent>;
  readonly endpoints: ModelEndpoint[];
}

export const createModel = (): Model => ({ transactions: new Map(), events: new Map(), endpoints: [] });

export function detailsOfUpdate({ index, flaw }: Update): UpdateDetails {
  const own = detailsOf(index);
  const [amount, total] = flaw === 'other amount' ? [OTHER_AMOUNT, own.otherTotal] : [own.amount, own.total];
  return {
    referenceId: flaw === 'reference of another' ? detailsOf((index + 1) % FIRST_PLAIN).referenceId : own.referenceId,
    amount,
    total,
    accountName: flaw === 'other name' ? OTHER_NAME : own.accountName,
  };
}

/** The total that an update states, or null. */
export function totalOfUpdate({ index, flaw }: Update): string | null {
  if (flaw === 'wrong total') return WRONG_TOTAL;
  return flaw === 'right total' ? detailsOf(index).total : null;
}

/** Applies a status update. */
export function applyUpdate(model: Model, update: Update): Outcome {
  const transaction = model.transactions.get(update.index);
  return transaction === undefined ? insert(model, update) : advance(model, transaction, update);
}

function insert(model: Model, update: Update): Outcome {
  if (!update.complete || update.flaw === 'wrong total') return 'rejected';
  const details = detailsOfUpdate(update);
  const others = [...model.transactions.values()];
  if (others.some((other) => other.details.referenceId === details.referenceId)) return 'conflict';
  const transaction: ModelTransaction = {
    index: update.index,
    details,
    status: 'PROCESS',
    processedAt: null,
    failureReason: null,
    reversedAt: null,
    rail: update.rail,
    overdue: false,
    // `finish` adds 1: a transaction whose first update is final has its first event with version 1.
    version: update.status === 'PROCESS' ? 1 : 0,
  };
  model.transactions.set(update.index, transaction);
  if (update.status !== 'PROCESS') finish(model, transaction, update);
  return 'inserted';
}

function advance(model: Model, transaction: ModelTransaction, update: Update): Outcome {
  const total = totalOfUpdate(update);
  if (total !== null && total !== transaction.details.total) return 'conflict';
  if (update.complete && !isDeepStrictEqual(detailsOfUpdate(update), transaction.details)) return 'conflict';
  if (update.rail !== null && transaction.rail !== null && update.rail !== transaction.rail) return 'conflict';

  if (transaction.status === 'PROCESS') {
    if (update.status === 'PROCESS') transaction.rail ??= update.rail;
    else finish(model, transaction, update);
    return update.status === 'PROCESS' ? 'unchanged' : 'advanced';
  }
  // The status is final. A late PROCESS changes nothing; another final status is a conflict.
  if (update.status === 'PROCESS') return 'unchanged';
  if (update.status !== transaction.status) return 'conflict';
  // The processing time and the failure reason stay those of the first final update.
  if (update.reversedAt === null || update.reversedAt === transaction.reversedAt) return 'unchanged';
  if (transaction.reversedAt !== null) return 'conflict';
  transaction.reversedAt = update.reversedAt;
  recordEvent(model, transaction, 'disbursement.reversed');
  return 'advanced';
}

function finish(model: Model, transaction: ModelTransaction, update: Update): void {
  transaction.status = update.status;
  transaction.processedAt = update.processedAt ?? TIME_APPLIED;
  transaction.failureReason = update.failureReason;
  recordEvent(model, transaction, update.status === 'SUCCESS' ? 'disbursement.succeeded' : 'disbursement.failed');
  if (update.reversedAt === null) return;
  transaction.reversedAt = update.reversedAt;
  recordEvent(model, transaction, 'disbursement.reversed');
}

/** Marks the transactions up to this index that are still in PROCESS as overdue. */
export function markOverdue(model: Model, upTo: number): void {
  for (const transaction of model.transactions.values()) {
    if (transaction.index > upTo || transaction.status !== 'PROCESS' || transaction.overdue) continue;
    transaction.overdue = true;
    recordEvent(model, transaction, 'disbursement.overdue');
  }
}

export const eventIdOf = (index: number, version: number): string =>
  `evt_${DETAILS[index]?.transactionId ?? ''}_${version}`;

/** Records an event: it gets the next version, and is due at every enabled endpoint that subscribes to its kind. */
function recordEvent(model: Model, transaction: ModelTransaction, kind: EventKind): void {
  transaction.version += 1;
  const eventId = eventIdOf(transaction.index, transaction.version);
  model.events.set(eventId, { index: transaction.index, version: transaction.version, kind });
  for (const endpoint of model.endpoints) {
    if (endpoint.enabled && endpoint.kinds.includes(kind)) endpoint.due.add(eventId);
  }
}

/**
 * Events that an endpoint subscribes to and has no delivery of: it did not exist or was disabled when they happened.
 */
export const missingEvents = (model: Model, { kinds, due }: ModelEndpoint): string[] =>
  [...model.events].filter(([id, { kind }]) => kinds.includes(kind) && !due.has(id)).map(([id]) => id);
