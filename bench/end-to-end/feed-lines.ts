import { CLIENT_ID } from '../database/prototypes.ts';

/** What a disbursement core says of a transaction. */
export type Word = Readonly<Record<string, string>>;

export interface Words {
  /** Identifiers of transactions that nobody has heard of. */
  newIds(count: number): string[];
}

export function createWords(past: number): Words {
  // The past is numbered from 0.
  let last = past;
  return {
    newIds: (count) => Array.from({ length: count }, () => `TB${String((last += 1)).padStart(10, '0')}`),
  };
}

export const begun = (transactionId: string): Word => ({
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

export const ended = (transactionId: string): Word => ({
  client_id: CLIENT_ID,
  transaction_id: transactionId,
  status: 'SUCCESS',
  processed_at: new Date().toISOString(),
});

/** Of a transaction that was never heard of before it had ended. */
export const begunAndEnded = (transactionId: string): Word => ({ ...begun(transactionId), ...ended(transactionId) });
