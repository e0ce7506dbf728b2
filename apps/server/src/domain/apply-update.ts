import type { EventKind } from './event.ts';
import { addMs } from './instant.ts';
import { addMoney } from './money.ts';
import { FEED_FIELD_NAMES, isFinal, NEXT_STATUSES, type StatusUpdate, type Transaction } from './transaction.ts';

/**
 * The outcome of one status update. `difference` names the fields of which the transaction has another value; the rest
 * of the update was applied.
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

// A feed pays for each line what is done here. So each field is named where it is read: a loop over names costs several
// times as much.

/** Which payout it is: the field that differs from the first status update, which none of these may; null for none. */
function fixedDifference(known: Transaction, update: StatusUpdate): string | null {
  if (differs(known.referenceId, update.referenceId)) return FEED_FIELD_NAMES.referenceId;
  if (differs(known.amount, update.amount)) return FEED_FIELD_NAMES.amount;
  if (differs(known.fee, update.fee)) return FEED_FIELD_NAMES.fee;
  if (differs(known.currency, update.currency)) return FEED_FIELD_NAMES.currency;
  if (differs(known.bankCode, update.bankCode)) return FEED_FIELD_NAMES.bankCode;
  if (differs(known.accountNumber, update.accountNumber)) return FEED_FIELD_NAMES.accountNumber;
  return differs(known.accountName, update.accountName) ? FEED_FIELD_NAMES.accountName : null;
}

/**
 * The fields of which the transaction keeps another value than the update has. The first update sets the first three,
 * or leaves them to their defaults; any update may add the others, once: the core often learns them after the transfer
 * was ordered. Such a difference never holds up a status: the payout's end matters more than a time that is rounded in
 * one of two messages.
 */
function keptFields(known: Transaction, update: StatusUpdate): string[] {
  const kept: string[] = [];
  // The name that the directory has today may be another one than the first update gave or found there.
  const isBankNameGiven = update.isBankNameDefault !== true;
  if (isBankNameGiven && differs(known.bankName, update.bankName)) kept.push(FEED_FIELD_NAMES.bankName);
  if (differs(known.description, update.description)) kept.push(FEED_FIELD_NAMES.description);
  if (differs(known.createdAt, update.createdAt)) kept.push(FEED_FIELD_NAMES.createdAt);
  if (contradicts(known.sourceAccountNumber, update.sourceAccountNumber))
    kept.push(FEED_FIELD_NAMES.sourceAccountNumber);
  if (contradicts(known.serviceCode, update.serviceCode)) kept.push(FEED_FIELD_NAMES.serviceCode);
  if (contradicts(known.externalId, update.externalId)) kept.push(FEED_FIELD_NAMES.externalId);
  if (contradicts(known.bankReference, update.bankReference)) kept.push(FEED_FIELD_NAMES.bankReference);
  return kept;
}

/**
 * The only place where a status changes. A status update that contradicts the stored transaction changes nothing and is
 * a conflict.
 */
export function applyUpdate(known: Transaction | null, update: StatusUpdate, context: UpdateContext): UpdateResult {
  if (known === null) return createTransaction(update, context);
  const result = applyToKnown(known, asReversal(known, update), context);
  const kept = keptFields(known, update);
  if (kept.length === 0 || 'reason' in result) return result;
  const names = kept.join(', ');
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
  const fixed = fixedDifference(known, update);
  if (fixed !== null) return conflict(`${fixed} differs from the first status update`);
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
  return {
    outcome: 'advanced',
    transaction: {
      ...withInformation(known, update),
      status: update.status,
      processedAt: processedAtOf(update, now),
      failureReason: failureReasonOf(update),
      expectedBy: null,
      reversedAt: update.reversedAt ?? null,
      version: nextVersion(known, context) + events.length - 1,
    },
    events,
  };
}

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
  const isAhead = update.createdAt !== undefined && isFarAhead(update.createdAt, now);
  const createdAt = isAhead ? now : (update.createdAt ?? now);
  const events = eventsOf(update);
  const transaction = newTransaction(update, {
    status: update.status,
    processedAt: processedAtOf(update, now),
    failureReason: failureReasonOf(update),
    createdAt,
    reversedAt: update.reversedAt ?? null,
    version: versionFloor + Math.max(1, events.length),
    expectedBy: isFinal(update.status) ? null : addMs(createdAt, expectedMs(update.bankCode ?? '')),
  });
  return { outcome: 'inserted', transaction, events, ...(isAhead ? { difference: FAR_AHEAD } : {}) };
}

/**
 * A core that calls local time UTC may be nearly 12 hours ahead. The retention finds the transactions in PROCESS whose
 * messages stay by when they were created (postgres/retention/status-messages.ts): with a later time, it would delete
 * their messages.
 */
const AHEAD_MAX_MS = 12 * 60 * 60 * 1_000;

const FAR_AHEAD = 'created_at: more than 12 hours after the update arrived; that time is stored instead';

/** Compares the texts first: a feed pays for it with each line. */
const isFarAhead = (createdAt: string, now: string): boolean => createdAt > now && createdAt > addMs(now, AHEAD_MAX_MS);

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

const DEFAULT_FEE = '0.00';
const DEFAULT_CURRENCY = 'IDR';

/** Why the update cannot be the first one of its transaction; null if it can, and then it inserts the transaction. */
export function rejectionAsFirst(update: StatusUpdate): string | null {
  const missing = missingFields(update);
  if (missing.length > 0) {
    if (missing.join() === FEED_FIELD_NAMES.bankName) {
      return 'bank_code is not in the bank directory: give bank_name as well';
    }
    return `the first status update of a transaction needs ${missing.join(', ')}`;
  }
  const { amount = '', fee = DEFAULT_FEE, totalAmount } = update;
  return hasTotal({ amount, fee }, totalAmount) ? null : 'total_amount must be amount + fee';
}

function missingFields(update: StatusUpdate): string[] {
  const missing: string[] = [];
  if (update.referenceId === undefined) missing.push(FEED_FIELD_NAMES.referenceId);
  if (update.amount === undefined) missing.push(FEED_FIELD_NAMES.amount);
  if (update.bankCode === undefined) missing.push(FEED_FIELD_NAMES.bankCode);
  if (update.bankName === undefined) missing.push(FEED_FIELD_NAMES.bankName);
  if (update.accountNumber === undefined) missing.push(FEED_FIELD_NAMES.accountNumber);
  if (update.accountName === undefined) missing.push(FEED_FIELD_NAMES.accountName);
  return missing;
}

const hasTotal = ({ amount, fee }: Pick<Transaction, 'amount' | 'fee'>, totalAmount: string | undefined): boolean =>
  totalAmount === undefined || totalAmount === addMoney(amount, fee);

/** An omitted value contradicts nothing. */
const differs = (known: string | null, value: string | null | undefined): boolean =>
  value !== undefined && value !== null && value !== known;

/** Nor does a value that is not known yet. */
const contradicts = (known: string | null, value: string | null | undefined): boolean =>
  known !== null && differs(known, value);

/** The events of the update that makes a transaction final. */
function eventsOf({ status, reversedAt }: StatusUpdate): readonly EventKind[] {
  if (status === 'PROCESS') return [];
  if (status === 'FAILED') return ['disbursement.failed'];
  return reversedAt === undefined || reversedAt === null
    ? ['disbursement.succeeded']
    : ['disbursement.succeeded', 'disbursement.reversed'];
}

const processedAtOf = ({ status, processedAt }: StatusUpdate, now: string): string | null =>
  isFinal(status) ? (processedAt ?? now) : null;

const failureReasonOf = ({ status, failureReason }: StatusUpdate): string | null =>
  status === 'FAILED' ? (failureReason ?? null) : null;

/**
 * An update with the current status may still report a reversal, or the rail. `processedAt` and `failureReason` stay as
 * the first final update gave them: the core and the bank seldom agree on them, and the difference is not a conflict.
 */
function applySameStatus(known: Transaction, update: StatusUpdate, context: UpdateContext): UpdateResult {
  const { reversedAt = null, rail = null, railReference = null } = update;
  if (reversedAt !== null && known.reversedAt === null) {
    return {
      outcome: 'reversed',
      transaction: { ...withInformation(known, update), reversedAt, version: nextVersion(known, context) },
      events: ['disbursement.reversed'],
    };
  }
  if (differs(known.reversedAt, reversedAt)) return conflict('reversed_at differs from an earlier status update');
  const addsRail = rail !== null && known.rail === null && !isFinal(known.status);
  const informed = withInformation(known, update);
  if (addsRail) return { outcome: 'unchanged', transaction: { ...informed, rail, railReference } };
  return informed === known ? { outcome: 'unchanged' } : { outcome: 'unchanged', transaction: informed };
}

/** The transaction with what the update adds to it, which any update may, once; itself if that is nothing. */
function withInformation(known: Transaction, update: StatusUpdate): Transaction {
  const sourceAccountNumber = known.sourceAccountNumber ?? update.sourceAccountNumber ?? null;
  const serviceCode = known.serviceCode ?? update.serviceCode ?? null;
  const externalId = known.externalId ?? update.externalId ?? null;
  const bankReference = known.bankReference ?? update.bankReference ?? null;
  const addsNothing =
    sourceAccountNumber === known.sourceAccountNumber &&
    serviceCode === known.serviceCode &&
    externalId === known.externalId &&
    bankReference === known.bankReference;
  return addsNothing ? known : { ...known, sourceAccountNumber, serviceCode, externalId, bankReference };
}

const conflict = (reason: string): UpdateResult => ({ outcome: 'conflict', reason });
