/**
 * Words (the whole project uses them so):
 *
 * - client: a company that disburses; owns transactions.
 * - transaction: one disbursement. `transactionId` is the service's own, `referenceId` is the client's.
 * - status: PROCESS, then for ever SUCCESS or FAILED.
 * - word: what somebody says about a transaction, in one message of the feed.
 * - observation: a word that was kept, with what came of it. The status is what the observations add up to.
 */

import { addMoney } from './money.ts';

export const STATUSES = ['PROCESS', 'SUCCESS', 'FAILED'] as const;
export type Status = (typeof STATUSES)[number];

/** All movement there is (service document 3.1; a final state never changes). */
const NEXT_STATUSES: Record<Status, readonly Status[]> = {
  PROCESS: ['SUCCESS', 'FAILED'],
  SUCCESS: [],
  FAILED: [],
};

export const isFinal = (status: Status): boolean => NEXT_STATUSES[status].length === 0;

/** Service document 2.2. Amounts are exact decimals with two places, as text; times are ISO 8601 UTC. */
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
}

/** One message of the feed: who and which, the status it claims, and whatever else it says. */
export type Word = Pick<Transaction, 'clientId' | 'transactionId' | 'status'> &
  Partial<Transaction> & {
    /** Not kept, because it is always amount + fee; a word that says otherwise contradicts itself or what is known. */
    readonly totalAmount?: string;
  };

export type Observed =
  | { readonly outcome: 'inserted' | 'advanced'; readonly transaction: Transaction }
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'conflict' | 'rejected'; readonly reason: string };

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
} as const satisfies Record<keyof Transaction, string>;

/**
 * The one place where a status moves. `now` (ISO 8601 UTC) stands in for times that the word leaves out.
 * A word that contradicts what is known changes nothing and comes back as a conflict.
 */
export function observe(known: Transaction | null, word: Word, now: string): Observed {
  if (known === null) return begin(word, now);

  const fixed = FIXED_FIELDS.find((field) => word[field] !== undefined && word[field] !== known[field]);
  if (fixed !== undefined) return conflict(`${FEED_FIELD_NAMES[fixed]} differs from what was first said`);
  if (!hasTotal(known, word.totalAmount)) return conflict('total_amount differs from amount + fee as first said');

  if (word.status === known.status) return agree(known, word);
  // An old word that arrives late says nothing against what came after it.
  if (word.status === 'PROCESS') return { outcome: 'unchanged' };
  if (!NEXT_STATUSES[known.status].includes(word.status)) {
    return conflict(`status ${word.status} after ${known.status}: a final status never changes`);
  }
  return { outcome: 'advanced', transaction: { ...known, ...ending(word, now) } };
}

function begin(word: Word, now: string): Observed {
  const { referenceId, amount, bankCode, bankName, accountNumber, accountName } = word;
  const complete = { referenceId, amount, bankCode, bankName, accountNumber, accountName };
  const missing = Object.entries(complete)
    .filter(([, value]) => value === undefined)
    .map(([field]) => FEED_FIELD_NAMES[field as keyof typeof complete]);
  if (missing.length > 0) {
    return { outcome: 'rejected', reason: `the first word about a transaction needs ${missing.join(', ')}` };
  }
  const transaction = {
    clientId: word.clientId,
    transactionId: word.transactionId,
    ...(complete as Required<typeof complete> & Record<keyof typeof complete, string>),
    fee: word.fee ?? '0.00',
    currency: word.currency ?? 'IDR',
    description: word.description ?? '',
    createdAt: word.createdAt ?? now,
    ...ending(word, now),
  };
  if (!hasTotal(transaction, word.totalAmount)) {
    return { outcome: 'rejected', reason: 'total_amount must be amount + fee' };
  }
  return { outcome: 'inserted', transaction };
}

const hasTotal = ({ amount, fee }: Transaction, claimed: string | undefined): boolean =>
  claimed === undefined || claimed === addMoney(amount, fee);

function ending(word: Word, now: string): Pick<Transaction, 'status' | 'processedAt' | 'failureReason'> {
  return {
    status: word.status,
    processedAt: isFinal(word.status) ? (word.processedAt ?? now) : null,
    failureReason: word.status === 'FAILED' ? (word.failureReason ?? null) : null,
  };
}

function agree(known: Transaction, word: Word): Observed {
  for (const field of ['processedAt', 'failureReason'] as const) {
    if (word[field] !== undefined && word[field] !== known[field]) {
      return conflict(`${FEED_FIELD_NAMES[field]} differs from what is known of this ${known.status}`);
    }
  }
  return { outcome: 'unchanged' };
}

const conflict = (reason: string): Observed => ({ outcome: 'conflict', reason });
