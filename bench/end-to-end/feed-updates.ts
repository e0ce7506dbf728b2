import { CLIENT_ID } from '../database/prototypes.ts';

/** A status update as a disbursement core feeds it. */
export type FeedUpdate = Readonly<Record<string, string>>;

export interface TransactionIds {
  /** Identifiers that no transaction has yet. */
  next(count: number): string[];
}

/** `existing`: how many transactions the database holds; they are numbered from 0. */
export function createTransactionIds(existing: number): TransactionIds {
  let last = existing;
  return {
    next: (count) => Array.from({ length: count }, () => `TB${String((last += 1)).padStart(10, '0')}`),
  };
}

/** The first update of a transaction, in PROCESS. */
export const createdUpdate = (transactionId: string): FeedUpdate => ({
  client_id: CLIENT_ID,
  transaction_id: transactionId,
  reference_id: `INV/2026/${transactionId}`,
  status: 'PROCESS',
  amount: '150000.00',
  fee: '2500.00',
  bank_code: '014',
  account_number: '1234567890',
  account_name: 'BUDI SANTOSO',
  description: `Refund of order ${transactionId}`,
  created_at: new Date().toISOString(),
});

export const successUpdate = (transactionId: string): FeedUpdate => ({
  client_id: CLIENT_ID,
  transaction_id: transactionId,
  status: 'SUCCESS',
  processed_at: new Date().toISOString(),
});

/** The first update of a transaction that is already final. */
export const createdSuccessUpdate = (transactionId: string): FeedUpdate => ({
  ...createdUpdate(transactionId),
  ...successUpdate(transactionId),
});
