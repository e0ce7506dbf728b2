import { isDeepStrictEqual } from 'node:util';
import type { EventKind } from '../../apps/server/src/domain/event.ts';
import { DETAILS, detailsOf, FIRST_PLAIN, OTHER_AMOUNT, OTHER_NAME, WRONG_TOTAL } from './details.ts';

/**
 * The rules that statuses and events follow, put as plainly as possible and without a look at how the service has them:
 * where the two disagree, one of them is wrong.
 */

export type Outcome = 'inserted' | 'advanced' | 'unchanged' | 'conflict' | 'rejected';

/** What somebody says about a transaction. `about` and the others that name a transaction are places in DETAILS. */
export interface Said {
  readonly about: number;
  readonly status: 'PROCESS' | 'SUCCESS' | 'FAILED';
  /** With all that a first word needs. */
  readonly complete: boolean;
  /** What is wrong with it; all but `right total` contradict what is known, or the word itself. */
  readonly twist: 'none' | 'right total' | 'wrong total' | 'other amount' | 'other name' | 'reference of another';
  readonly processedAt: string | null;
  readonly failureReason: string | null;
  readonly reversedAt: string | null;
  readonly rail: string | null;
}

/** What can never differ between two words about one transaction. */
export interface SaidDetails {
  readonly referenceId: string;
  readonly amount: string;
  readonly total: string;
  readonly accountName: string;
}

/** A time that only the service knows: when it applied the word. */
export const WHEN_APPLIED = 'when applied';

export interface Known {
  readonly about: number;
  readonly details: SaidDetails;
  status: 'PROCESS' | 'SUCCESS' | 'FAILED';
  processedAt: string | null;
  failureReason: string | null;
  reversedAt: string | null;
  rail: string | null;
  overdue: boolean;
  version: number;
}

export interface ModelEvent {
  readonly about: number;
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
  readonly owed: Set<string>;
  /** Events that were to be delivered again, with how often they had come before. */
  readonly again: { readonly eventId: string; readonly arrivals: number }[];
}

export interface Model {
  readonly transactions: Map<number, Known>;
  /** By their IDs. */
  readonly events: Map<string, ModelEvent>;
  readonly endpoints: ModelEndpoint[];
}

export const createModel = (): Model => ({ transactions: new Map(), events: new Map(), endpoints: [] });

export function detailsSaid({ about, twist }: Said): SaidDetails {
  const own = detailsOf(about);
  const [amount, total] = twist === 'other amount' ? [OTHER_AMOUNT, own.otherTotal] : [own.amount, own.total];
  return {
    referenceId: twist === 'reference of another' ? detailsOf((about + 1) % FIRST_PLAIN).referenceId : own.referenceId,
    amount,
    total,
    accountName: twist === 'other name' ? OTHER_NAME : own.accountName,
  };
}

/** The total that a word claims, if it does. */
export function totalSaid({ about, twist }: Said): string | null {
  if (twist === 'wrong total') return WRONG_TOTAL;
  return twist === 'right total' ? detailsOf(about).total : null;
}

/** A word comes in. */
export function hear(model: Model, word: Said): Outcome {
  const known = model.transactions.get(word.about);
  return known === undefined ? begin(model, word) : goOn(model, known, word);
}

function begin(model: Model, word: Said): Outcome {
  if (!word.complete || word.twist === 'wrong total') return 'rejected';
  const details = detailsSaid(word);
  const others = [...model.transactions.values()];
  if (others.some((other) => other.details.referenceId === details.referenceId)) return 'conflict';
  const known: Known = {
    about: word.about,
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
  model.transactions.set(word.about, known);
  if (word.status !== 'PROCESS') end(model, known, word);
  return 'inserted';
}

function goOn(model: Model, known: Known, word: Said): Outcome {
  const total = totalSaid(word);
  if (total !== null && total !== known.details.total) return 'conflict';
  if (word.complete && !isDeepStrictEqual(detailsSaid(word), known.details)) return 'conflict';
  if (word.rail !== null && known.rail !== null && word.rail !== known.rail) return 'conflict';

  if (known.status === 'PROCESS') {
    if (word.status === 'PROCESS') known.rail ??= word.rail;
    else end(model, known, word);
    return word.status === 'PROCESS' ? 'unchanged' : 'advanced';
  }
  // It is final. An old word that comes late says nothing; another final word is wrong.
  if (word.status === 'PROCESS') return 'unchanged';
  if (word.status !== known.status) return 'conflict';
  // When it ended, and why it failed, is as the first final word had it.
  if (word.reversedAt === null || word.reversedAt === known.reversedAt) return 'unchanged';
  if (known.reversedAt !== null) return 'conflict';
  known.reversedAt = word.reversedAt;
  tell(model, known, 'disbursement.reversed');
  return 'advanced';
}

function end(model: Model, known: Known, word: Said): void {
  known.status = word.status;
  known.processedAt = word.processedAt ?? WHEN_APPLIED;
  known.failureReason = word.failureReason;
  tell(model, known, word.status === 'SUCCESS' ? 'disbursement.succeeded' : 'disbursement.failed');
  if (word.reversedAt === null) return;
  known.reversedAt = word.reversedAt;
  tell(model, known, 'disbursement.reversed');
}

/** So much time has passed that those up to this place in DETAILS should have been done with. */
export function passTime(model: Model, upTo: number): void {
  for (const known of model.transactions.values()) {
    if (known.about > upTo || known.status !== 'PROCESS' || known.overdue) continue;
    known.overdue = true;
    tell(model, known, 'disbursement.overdue');
  }
}

export const eventIdOf = (about: number, version: number): string =>
  `evt_${DETAILS[about]?.transactionId ?? ''}_${version}`;

/** Something happened: it is numbered, and owed to every endpoint that wants it and is enabled now. */
function tell(model: Model, known: Known, kind: EventKind): void {
  known.version += 1;
  const eventId = eventIdOf(known.about, known.version);
  model.events.set(eventId, { about: known.about, version: known.version, kind });
  for (const endpoint of model.endpoints) {
    if (endpoint.enabled && endpoint.kinds.includes(kind)) endpoint.owed.add(eventId);
  }
}

/** What an endpoint wants and is not owed, because it was not there or disabled when it happened. */
export const missingFor = (model: Model, { kinds, owed }: ModelEndpoint): string[] =>
  [...model.events].filter(([id, { kind }]) => kinds.includes(kind) && !owed.has(id)).map(([id]) => id);
