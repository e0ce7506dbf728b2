import type { EventKind } from './event.ts';
import { addMs } from './instant.ts';
import { addMoney } from './money.ts';
import { FEED_FIELD_NAMES, isFinal, NEXT_STATUSES, type StatusUpdate, type Transaction } from './transaction.ts';

/**
 * The outcome of one status update. `difference` names the fields of which the transaction keeps an earlier value; the
 * rest of the update was applied.
 */
export type UpdateResult =
  | {
      readonly outcome: 'inserted' | 'advanced' | 'reversed' | 'overdue';
      readonly transaction: Transaction;
      /** In order. The last event has the transaction's version, the one before it one less. */
      readonly events: readonly EventKind[];
      readonly difference?: string;
    }
  /** With a transaction if the update added something that the client never sees. */
  | { readonly outcome: 'unchanged'; readonly transaction?: Transaction; readonly difference?: string }
  | { readonly outcome: 'conflict' | 'rejected'; readonly reason: string };

/** Supplies the defaults for fields that a status update omits. */
export interface UpdateContext {
  /** ISO 8601 UTC. */
  readonly now: string;
  /**
   * Later versions are greater: the versions before it may have been given by a time that was lost when a backup was
   * restored. 0 when none was.
   */
  readonly versionFloor: number;
  /** How long the bank with this code is expected to take, in milliseconds. */
  readonly expectedMs: (bankCode: string) => number;
}

/** Which payout it is. These must not differ between two status updates of one transaction. */
const FIXED_FIELDS = [
  'referenceId',
  'amount',
  'fee',
  'currency',
  'bankCode',
  'accountNumber',
  'accountName',
] as const satisfies readonly (keyof Transaction)[];

/**
 * Fields that the first update sets, or leaves to their defaults. That value stays, and another one never holds up a
 * status: the payout's end matters more than a time that is rounded in one of two messages.
 */
const DESCRIPTIVE_FIELDS = ['bankName', 'description', 'createdAt'] as const satisfies readonly (keyof Transaction)[];

/** Fields that any update may add, once: the core often learns them after the transfer was ordered. As above. */
const INFORMATIONAL_FIELDS = [
  'sourceAccountNumber',
  'serviceCode',
  'externalId',
  'bankReference',
] as const satisfies readonly (keyof Transaction)[];

const KEPT_FIELDS = [...DESCRIPTIVE_FIELDS, ...INFORMATIONAL_FIELDS];

/**
 * The only place where a status changes. A status update that contradicts the stored transaction changes nothing and is
 * a conflict.
 */
export function applyUpdate(known: Transaction | null, update: StatusUpdate, context: UpdateContext): UpdateResult {
  if (known === null) return createTransaction(update, context);
  const result = applyToKnown(known, asReversal(known, update), context);
  const kept = KEPT_FIELDS.filter((field) => known[field] !== null && differs(known[field], givenValue(update, field)));
  if (kept.length === 0 || 'reason' in result) return result;
  const names = kept.map((field) => FEED_FIELD_NAMES[field]).join(', ');
  return { ...result, difference: `${names}: another value than in an earlier status update; the first value stays` };
}

/**
 * A bank that has returned the money says so of the whole transfer, whether it had succeeded before or not. After
 * SUCCESS, which never changes, that is the reversal, and no news where the reversal is known already.
 */
function asReversal(known: Transaction, update: StatusUpdate): StatusUpdate {
  const { refundedAt } = update;
  if (refundedAt === undefined || known.status !== 'SUCCESS') return update;
  return { ...update, status: 'SUCCESS', reversedAt: known.reversedAt ?? refundedAt };
}

function applyToKnown(known: Transaction, update: StatusUpdate, context: UpdateContext): UpdateResult {
  const { now } = context;
  const fixed = FIXED_FIELDS.find((field) => differs(known[field], update[field]));
  if (fixed !== undefined) return conflict(`${FEED_FIELD_NAMES[fixed]} differs from the first status update`);
  if (!hasTotal(known, update.totalAmount)) {
    return conflict('total_amount differs from amount + fee of the first status update');
  }
  if (known.rail !== null && (differs(known.rail, update.rail) || differs(known.railReference, update.railReference))) {
    return conflict('rail and rail_reference differ from an earlier status update');
  }

  if (update.status === known.status) return applySameStatus(known, update, context);
  // PROCESS after a final status is an old update that arrived late. It contradicts nothing.
  if (update.status === 'PROCESS') return { outcome: 'unchanged' };
  if (!NEXT_STATUSES[known.status].includes(update.status)) {
    return conflict(`status ${update.status} after ${known.status}: a final status never changes`);
  }
  const events = eventsOf(update);
  const version = nextVersion(known, context) + events.length - 1;
  return {
    outcome: 'advanced',
    transaction: {
      ...known,
      ...informationalFields(known, update),
      ...finalFields(update, now),
      expectedBy: null,
      reversedAt: update.reversedAt ?? null,
      version,
    },
    events,
  };
}

/** The name that the directory has today may be another one than the first update gave or found there. */
const givenValue = (update: StatusUpdate, field: (typeof KEPT_FIELDS)[number]): string | null | undefined =>
  field === 'bankName' && update.isBankNameDefault === true ? undefined : update[field];

/**
 * The transaction in PROCESS that this update most probably ends: what a first update that says the same, without the
 * end, has created. Most cores send a full record each time. null for an update that ends nothing, or says too little.
 */
export function assumedInProcess(update: StatusUpdate, { versionFloor }: UpdateContext): Transaction | null {
  const { createdAt } = update;
  if (!isFinal(update.status) || createdAt === undefined || rejectionAsFirst(update) !== null) return null;
  return newTransaction(update, {
    status: 'PROCESS',
    createdAt,
    processedAt: null,
    failureReason: null,
    reversedAt: null,
    version: versionFloor + 1,
    // It has one, which depends on its bank, and which its end removes.
    expectedBy: null,
  });
}

/** Marks a transaction overdue, once, if it is still in PROCESS when its bank was expected to have finished. */
export function markOverdue(known: Transaction, context: Pick<UpdateContext, 'now' | 'versionFloor'>): UpdateResult {
  const { now } = context;
  const { expectedBy, overdueSince } = known;
  if (expectedBy === null || overdueSince !== null || now < expectedBy) return { outcome: 'unchanged' };
  return {
    outcome: 'overdue',
    transaction: { ...known, overdueSince: now, version: nextVersion(known, context) },
    events: ['disbursement.overdue'],
  };
}

const nextVersion = (known: Transaction, { versionFloor }: Pick<UpdateContext, 'versionFloor'>): number =>
  Math.max(known.version, versionFloor) + 1;

function createTransaction(update: StatusUpdate, { now, versionFloor, expectedMs }: UpdateContext): UpdateResult {
  const reason = rejectionAsFirst(update);
  if (reason !== null) return { outcome: 'rejected', reason };
  const createdAt = update.createdAt ?? now;
  const events = eventsOf(update);
  const transaction = newTransaction(update, {
    ...finalFields(update, now),
    createdAt,
    reversedAt: update.reversedAt ?? null,
    version: versionFloor + Math.max(1, events.length),
    expectedBy: isFinal(update.status) ? null : addMs(createdAt, expectedMs(update.bankCode ?? '')),
  });
  return { outcome: 'inserted', transaction, events };
}

/** What the status and the time say of a new transaction, beside its update. */
type Progress = Pick<
  Transaction,
  'status' | 'createdAt' | 'processedAt' | 'failureReason' | 'reversedAt' | 'version' | 'expectedBy'
>;

function newTransaction(update: StatusUpdate, progress: Progress): Transaction {
  // None of these is missing.
  const { referenceId = '', amount = '', bankCode = '', bankName = '', accountNumber = '', accountName = '' } = update;
  return {
    clientId: update.clientId,
    transactionId: update.transactionId,
    referenceId,
    status: progress.status,
    amount,
    fee: update.fee ?? DEFAULT_FEE,
    currency: update.currency ?? DEFAULT_CURRENCY,
    bankCode,
    bankName,
    accountNumber,
    accountName,
    description: update.description ?? '',
    createdAt: progress.createdAt,
    processedAt: progress.processedAt,
    failureReason: progress.failureReason,
    version: progress.version,
    rail: update.rail ?? null,
    railReference: update.railReference ?? null,
    reversedAt: progress.reversedAt,
    sourceAccountNumber: update.sourceAccountNumber ?? null,
    serviceCode: update.serviceCode ?? null,
    externalId: update.externalId ?? null,
    bankReference: update.bankReference ?? null,
    expectedBy: progress.expectedBy,
    overdueSince: null,
  };
}

/** Fields that the first status update of a transaction must have. */
const REQUIRED_FIELDS = ['referenceId', 'amount', 'bankCode', 'bankName', 'accountNumber', 'accountName'] as const;

const DEFAULT_FEE = '0.00';
const DEFAULT_CURRENCY = 'IDR';

/** Why the update cannot be the first one of its transaction; null if it can, and then it inserts the transaction. */
export function rejectionAsFirst(update: StatusUpdate): string | null {
  if (REQUIRED_FIELDS.some((field) => update[field] === undefined)) {
    const missing = REQUIRED_FIELDS.filter((field) => update[field] === undefined);
    if (missing.join() === 'bankName') return 'bank_code is not in the bank directory: give bank_name as well';
    const names = missing.map((field) => FEED_FIELD_NAMES[field]).join(', ');
    return `the first status update of a transaction needs ${names}`;
  }
  const { amount = '', fee = DEFAULT_FEE, totalAmount } = update;
  return hasTotal({ amount, fee }, totalAmount) ? null : 'total_amount must be amount + fee';
}

const hasTotal = ({ amount, fee }: Pick<Transaction, 'amount' | 'fee'>, totalAmount: string | undefined): boolean =>
  totalAmount === undefined || totalAmount === addMoney(amount, fee);

/** An omitted value contradicts nothing. */
const differs = (known: string | null, value: string | null | undefined): boolean =>
  value !== undefined && value !== null && value !== known;

/** The events of the update that makes a transaction final. */
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
 * An update with the current status may still report a reversal, or the rail. `processedAt` and `failureReason` stay as
 * the first final update gave them: the core and the bank seldom agree on them, and the difference is not a conflict.
 */
function applySameStatus(known: Transaction, update: StatusUpdate, context: UpdateContext): UpdateResult {
  const { reversedAt = null, rail = null, railReference = null } = update;
  if (reversedAt !== null && known.reversedAt === null) {
    return {
      outcome: 'reversed',
      transaction: {
        ...known,
        ...informationalFields(known, update),
        reversedAt,
        version: nextVersion(known, context),
      },
      events: ['disbursement.reversed'],
    };
  }
  if (differs(known.reversedAt, reversedAt)) return conflict('reversed_at differs from an earlier status update');
  const addsRail = rail !== null && known.rail === null && !isFinal(known.status);
  if (addsRail || INFORMATIONAL_FIELDS.some((field) => known[field] === null && (update[field] ?? null) !== null)) {
    const railFields = addsRail ? { rail, railReference } : {};
    return { outcome: 'unchanged', transaction: { ...known, ...railFields, ...informationalFields(known, update) } };
  }
  return { outcome: 'unchanged' };
}

type InformationalFields = Pick<Transaction, (typeof INFORMATIONAL_FIELDS)[number]>;

/** Those that the update adds, beside those that are known, which stay. */
const informationalFields = (known: InformationalFields, update: StatusUpdate): InformationalFields => ({
  sourceAccountNumber: known.sourceAccountNumber ?? update.sourceAccountNumber ?? null,
  serviceCode: known.serviceCode ?? update.serviceCode ?? null,
  externalId: known.externalId ?? update.externalId ?? null,
  bankReference: known.bankReference ?? update.bankReference ?? null,
});

const conflict = (reason: string): UpdateResult => ({ outcome: 'conflict', reason });
