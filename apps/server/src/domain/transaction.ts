/**
 * Words (the whole project uses them so; more of them are in ARCHITECTURE.md, "Words"):
 *
 * - client: a company that disburses; owns transactions.
 * - transaction: one disbursement. `transactionId` is the service's own, `referenceId` is the client's.
 * - status: PROCESS, then for ever SUCCESS or FAILED.
 * - word: what somebody says about a transaction: the core in a message of the feed, or its bank when it is asked.
 * - observation: a word that was kept, with what came of it. The status is what the observations add up to.
 * - event: something that happened to a transaction and that its client is told about. They raise its version.
 */

import type { EventKind } from './event.ts';
import { addMoney } from './money.ts';

export const STATUSES = ['PROCESS', 'SUCCESS', 'FAILED'] as const;
export type Status = (typeof STATUSES)[number];

/** All movement there is (docs/contract.md 3.1; a final state never changes). */
const NEXT_STATUSES: Record<Status, readonly Status[]> = {
  PROCESS: ['SUCCESS', 'FAILED'],
  SUCCESS: [],
  FAILED: [],
};

export const isFinal = (status: Status): boolean => NEXT_STATUSES[status].length === 0;

/** docs/contract.md 2.2, and what Tiba keeps besides. Amounts are exact decimals with two places, as text; times are ISO 8601 UTC. */
export interface Transaction {
  readonly clientId: string;
  readonly transactionId: string;
  readonly referenceId: string;
  readonly status: Status;
  readonly amount: string;
  readonly fee: string;
  /** ISO 4217. */
  readonly currency: string;
  readonly bankCode: string;
  readonly bankName: string;
  readonly accountNumber: string;
  readonly accountName: string;
  readonly description: string;
  readonly createdAt: string;
  /** null while PROCESS. */
  readonly processedAt: string | null;
  /** null unless FAILED. */
  readonly failureReason: string | null;
  /** 1 at first, or the number of events in the first word; then one more with each event. */
  readonly version: number;
  /** The rail that carries it and its reference there, by which the bank can be asked; both or neither. */
  readonly rail: string | null;
  readonly railReference: string | null;
  /** When the bank gave the money back after SUCCESS. */
  readonly reversedAt: string | null;
  /** When its bank is expected to be done with it. */
  readonly expectedBy: string;
  /** Since when it is overdue. */
  readonly overdueSince: string | null;
}

/** What nobody says of a transaction: it is counted or reckoned here. */
type DerivedField = 'version' | 'expectedBy' | 'overdueSince';

/** One message of the feed: who and which, the status it claims, and whatever else it says. */
export type StatusUpdate = Pick<Transaction, 'clientId' | 'transactionId' | 'status'> &
  Partial<Omit<Transaction, DerivedField>> & {
    /** Not kept, because it is always amount + fee; a word that says otherwise contradicts itself or what is known. */
    readonly totalAmount?: string;
  };

export type UpdateResult =
  | {
      readonly outcome: 'inserted' | 'advanced' | 'reversed' | 'overdue';
      readonly transaction: Transaction;
      /** In their order; the last has the transaction's version, and the one before it one less. */
      readonly events: readonly EventKind[];
    }
  /** With a transaction where something was learnt that its client never sees. */
  | { readonly outcome: 'unchanged'; readonly transaction?: Transaction }
  | { readonly outcome: 'conflict' | 'rejected'; readonly reason: string };

/** What stands in for what a word leaves out. */
export interface UpdateContext {
  /** ISO 8601 UTC. */
  readonly now: string;
  /** How long the bank of this code is expected to take. */
  readonly expectedMs: (bankCode: string) => number;
}

/** What can never differ between two words about one transaction. */
const FIXED_FIELDS = [
  'referenceId',
  'amount',
  'fee',
  'currency',
  'bankCode',
  'bankName',
  'accountNumber',
  'accountName',
  'description',
  'createdAt',
] as const satisfies readonly (keyof Transaction)[];

/** How the feed names the fields, for messages to the people who write feeds. */
export const FEED_FIELD_NAMES = {
  clientId: 'client_id',
  transactionId: 'transaction_id',
  referenceId: 'reference_id',
  status: 'status',
  amount: 'amount',
  fee: 'fee',
  currency: 'currency',
  bankCode: 'bank_code',
  bankName: 'bank_name',
  accountNumber: 'account_number',
  accountName: 'account_name',
  description: 'description',
  createdAt: 'created_at',
  processedAt: 'processed_at',
  failureReason: 'failure_reason',
  rail: 'rail',
  railReference: 'rail_reference',
  reversedAt: 'reversed_at',
} as const satisfies Record<Exclude<keyof Transaction, DerivedField>, string>;

/**
 * The one place where a status moves. A word that contradicts what is known changes nothing and comes back as a
 * conflict.
 */
export function applyUpdate(
  known: Transaction | null,
  update: StatusUpdate,
  circumstances: UpdateContext,
): UpdateResult {
  if (known === null) return createTransaction(update, circumstances);
  const { now } = circumstances;

  const fixed = FIXED_FIELDS.find((field) => update[field] !== undefined && update[field] !== known[field]);
  if (fixed !== undefined) return conflict(`${FEED_FIELD_NAMES[fixed]} differs from what was first said`);
  if (!hasTotal(known, update.totalAmount)) return conflict('total_amount differs from amount + fee as first said');
  if (known.rail !== null && (isOther(known.rail, update.rail) || isOther(known.railReference, update.railReference))) {
    return conflict('rail and rail_reference differ from what was first said');
  }

  if (update.status === known.status) return applySameStatus(known, update);
  // An old word that arrives late says nothing against what came after it.
  if (update.status === 'PROCESS') return { outcome: 'unchanged' };
  if (!NEXT_STATUSES[known.status].includes(update.status)) {
    return conflict(`status ${update.status} after ${known.status}: a final status never changes`);
  }
  const events = eventsOf(update);
  const version = known.version + events.length;
  return {
    outcome: 'advanced',
    transaction: { ...known, ...finalFields(update, now), reversedAt: update.reversedAt ?? null, version },
    events,
  };
}

/** Time passes as well: a transaction in PROCESS that its bank should have been done with is overdue, once. */
export function markOverdue(known: Transaction, now: string): UpdateResult {
  if (isFinal(known.status) || known.overdueSince !== null || now < known.expectedBy) return { outcome: 'unchanged' };
  return {
    outcome: 'overdue',
    transaction: { ...known, overdueSince: now, version: known.version + 1 },
    events: ['disbursement.overdue'],
  };
}

function createTransaction(update: StatusUpdate, { now, expectedMs }: UpdateContext): UpdateResult {
  const { referenceId, amount, bankCode, bankName, accountNumber, accountName } = update;
  const complete = { referenceId, amount, bankCode, bankName, accountNumber, accountName };
  const missing = Object.entries(complete)
    .filter(([, value]) => value === undefined)
    .map(([field]) => FEED_FIELD_NAMES[field as keyof typeof complete]);
  if (missing.length > 0) {
    return { outcome: 'rejected', reason: `the first word about a transaction needs ${missing.join(', ')}` };
  }
  const createdAt = update.createdAt ?? now;
  const events = eventsOf(update);
  const known = complete as Record<keyof typeof complete, string>;
  const transaction = {
    clientId: update.clientId,
    transactionId: update.transactionId,
    ...known,
    fee: update.fee ?? '0.00',
    currency: update.currency ?? 'IDR',
    description: update.description ?? '',
    createdAt,
    ...finalFields(update, now),
    version: Math.max(1, events.length),
    rail: update.rail ?? null,
    railReference: update.railReference ?? null,
    reversedAt: update.reversedAt ?? null,
    expectedBy: new Date(Math.min(Date.parse(createdAt) + expectedMs(known.bankCode), LAST_MS)).toISOString(),
    overdueSince: null,
  };
  if (!hasTotal(transaction, update.totalAmount)) {
    return { outcome: 'rejected', reason: 'total_amount must be amount + fee' };
  }
  return { outcome: 'inserted', transaction, events };
}

/** Later times are not written with four digits for the year. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

const hasTotal = ({ amount, fee }: Transaction, claimed: string | undefined): boolean =>
  claimed === undefined || claimed === addMoney(amount, fee);

const isOther = (known: string | null, said: string | null | undefined): boolean =>
  said !== undefined && said !== null && said !== known;

/** What a client is told when the first final word comes. */
function eventsOf({ status, reversedAt }: StatusUpdate): EventKind[] {
  if (status === 'PROCESS') return [];
  if (status === 'FAILED') return ['disbursement.failed'];
  return reversedAt === undefined || reversedAt === null
    ? ['disbursement.succeeded']
    : ['disbursement.succeeded', 'disbursement.reversed'];
}

function finalFields(update: StatusUpdate, now: string): Pick<Transaction, 'status' | 'processedAt' | 'failureReason'> {
  return {
    status: update.status,
    processedAt: isFinal(update.status) ? (update.processedAt ?? now) : null,
    failureReason: update.status === 'FAILED' ? (update.failureReason ?? null) : null,
  };
}

/**
 * A word with the status that is known already: it may still tell of a reversal, or of the rail. When it ended, and why, is
 * as the first final word had it: the core and the bank seldom agree on the second, and that contradicts nothing.
 */
function applySameStatus(known: Transaction, update: StatusUpdate): UpdateResult {
  const { reversedAt = null, rail = null, railReference = null } = update;
  if (reversedAt !== null && known.reversedAt === null) {
    return {
      outcome: 'reversed',
      transaction: { ...known, reversedAt, version: known.version + 1 },
      events: ['disbursement.reversed'],
    };
  }
  if (isOther(known.reversedAt, reversedAt)) return conflict('reversed_at differs from what was first said');
  if (rail !== null && known.rail === null && !isFinal(known.status)) {
    return { outcome: 'unchanged', transaction: { ...known, rail, railReference } };
  }
  return { outcome: 'unchanged' };
}

const conflict = (reason: string): UpdateResult => ({ outcome: 'conflict', reason });
