import type { Durations } from '../../ledger/durations.ts';

/** What its rendered JSON tells of a transaction that is in PROCESS. */
export interface OpenTransaction {
  readonly transaction_id: string;
  readonly bank_name: string;
  readonly created_at: string;
}

export const readOpen = (rendered: string): OpenTransaction => JSON.parse(rendered) as OpenTransaction;

/** Retry-After of an answer about it, from how long its bank has taken lately. */
export type RetryAfter = (open: OpenTransaction) => string;

export const createRetryAfter =
  (durations: Pick<Durations, 'askAgainSeconds'>): RetryAfter =>
  ({ bank_name: bankName, created_at: createdAt }) =>
    String(durations.askAgainSeconds(bankName, Date.now() - Date.parse(createdAt)));
