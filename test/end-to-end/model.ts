import { isDeepStrictEqual } from 'node:util';
import type { EventKind } from '../../apps/server/src/domain/event.ts';
import { DETAILS, detailsOf, FIRST_PLAIN, OTHER_AMOUNT, OTHER_NAME, WRONG_TOTAL } from './details.ts';

/**
 * The rules that statuses and events follow, put as plainly as possible and without a look at how the service has them:
 * where the two disagree, one of them is wrong.
 */

export type Outcome = 'inserted' | 'advanced' | 'unchanged' | 'conflict' | 'rejected';

/** What somebody says about a transaction. `about` and the others that name a transaction are places in DETAILS. */
export interface Update {
  readonly index: number;
  readonly status: 'PROCESS' | 'SUCCESS' | 'FAILED';
  /** With all that a first word needs. */
  readonly complete: boolean;
  /** What is wrong with it; all but `right total` contradict what is known, or the word itself. */
  readonly flaw: 'none' | 'right total' | 'wrong total' | 'other amount' | 'other name' | 'reference of another';
  readonly processedAt: string | null;
  readonly failureReason: string | null;
  readonly reversedAt: string | null;
  readonly rail: string | null;
}

/** What can never differ between two words about one transaction. */
export interface UpdateDetails {
  readonly referenceId: string;
  readonly amount: string;
  readonly total: string;
  readonly accountName: string;
}

/** A time that only the service knows: when it applied the word. */
export const TIME_APPLIED = 'when applied';

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
  /** Each with the moment from which on it signs; the one before it goes on signing for a day. */
  readonly secrets: { readonly secret: string; readonly from: number }[];
  /** IDs of the events that it has to be told of. */
  readonly due: Set<string>;
  /** Events that were to be delivered again, with how often they had come before. */
  readonly replays: { readonly eventId: string; readonly arrivals: number }[];
}

export interface Model {
  readonly transactions: Map<number, ModelTransaction>;
  /** By their IDs. */
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

/** The total that a word claims, if it does. */
export function totalOfUpdate({ index, flaw }: Update): string | null {
  if (flaw === 'wrong total') return WRONG_TOTAL;
  return flaw === 'right total' ? detailsOf(index).total : null;
}

/** A word comes in. */
export function applyUpdate(model: Model, word: Update): Outcome {
  const known = model.transactions.get(word.index);
  return known === undefined ? insert(model, word) : advance(model, known, word);
}

function insert(model: Model, word: Update): Outcome {
  if (!word.complete || word.flaw === 'wrong total') return 'rejected';
  const details = detailsOfUpdate(word);
  const others = [...model.transactions.values()];
  if (others.some((other) => other.details.referenceId === details.referenceId)) return 'conflict';
  const known: ModelTransaction = {
    index: word.index,
    details,
    status: 'PROCESS',
    processedAt: null,
    failureReason: null,
    reversedAt: null,
    rail: word.rail,
    overdue: false,
    // Something that is final when it is first heard of has its first event with version 1.
    version: word.status === 'PROCESS' ? 1 : 0,
  };
  model.transactions.set(word.index, known);
  if (word.status !== 'PROCESS') finish(model, known, word);
  return 'inserted';
}

function advance(model: Model, known: ModelTransaction, word: Update): Outcome {
  const total = totalOfUpdate(word);
  if (total !== null && total !== known.details.total) return 'conflict';
  if (word.complete && !isDeepStrictEqual(detailsOfUpdate(word), known.details)) return 'conflict';
  if (word.rail !== null && known.rail !== null && word.rail !== known.rail) return 'conflict';

  if (known.status === 'PROCESS') {
    if (word.status === 'PROCESS') known.rail ??= word.rail;
    else finish(model, known, word);
    return word.status === 'PROCESS' ? 'unchanged' : 'advanced';
  }
  // It is final. An old word that comes late says nothing; another final word is wrong.
  if (word.status === 'PROCESS') return 'unchanged';
  if (word.status !== known.status) return 'conflict';
  // When it ended, and why it failed, is as the first final word had it.
  if (word.reversedAt === null || word.reversedAt === known.reversedAt) return 'unchanged';
  if (known.reversedAt !== null) return 'conflict';
  known.reversedAt = word.reversedAt;
  recordEvent(model, known, 'disbursement.reversed');
  return 'advanced';
}

function finish(model: Model, known: ModelTransaction, word: Update): void {
  known.status = word.status;
  known.processedAt = word.processedAt ?? TIME_APPLIED;
  known.failureReason = word.failureReason;
  recordEvent(model, known, word.status === 'SUCCESS' ? 'disbursement.succeeded' : 'disbursement.failed');
  if (word.reversedAt === null) return;
  known.reversedAt = word.reversedAt;
  recordEvent(model, known, 'disbursement.reversed');
}

/** So much time has passed that those up to this place in DETAILS should have been done with. */
export function markOverdue(model: Model, upTo: number): void {
  for (const known of model.transactions.values()) {
    if (known.index > upTo || known.status !== 'PROCESS' || known.overdue) continue;
    known.overdue = true;
    recordEvent(model, known, 'disbursement.overdue');
  }
}

export const eventIdOf = (index: number, version: number): string =>
  `evt_${DETAILS[index]?.transactionId ?? ''}_${version}`;

/** Something happened: it is numbered, and owed to every endpoint that wants it and is enabled now. */
function recordEvent(model: Model, known: ModelTransaction, kind: EventKind): void {
  known.version += 1;
  const eventId = eventIdOf(known.index, known.version);
  model.events.set(eventId, { index: known.index, version: known.version, kind });
  for (const endpoint of model.endpoints) {
    if (endpoint.enabled && endpoint.kinds.includes(kind)) endpoint.due.add(eventId);
  }
}

/** What an endpoint wants and is not owed, because it was not there or disabled when it happened. */
export const missingEvents = (model: Model, { kinds, due }: ModelEndpoint): string[] =>
  [...model.events].filter(([id, { kind }]) => kinds.includes(kind) && !due.has(id)).map(([id]) => id);
