import type { CheckStatusDependencies } from '../http/check-status/check-status.ts';
import { createLongPoll } from '../http/check-status/long-poll.ts';
import { createRetryAfter } from '../http/check-status/retry-after.ts';
import { createTransactionLookUp } from '../postgres/transaction-look-up.ts';
import { createProcessingTimes, type ProcessingTimes } from '../transactions/processing-times.ts';
import type { AppContext } from './app-context.ts';
import type { Authentication } from './authentication.ts';
import type { Store } from './store.ts';
import type { TransactionServices } from './transactions.ts';

/** What tells clients how their transactions are: answers, waiting, streams. */
export interface CheckStatus {
  readonly status: Omit<CheckStatusDependencies, 'authorize'>;
  /** How long banks take, as heard of with each change. */
  readonly durations: ProcessingTimes;
  /** Nobody waits any longer: each gets what is known. */
  readonly endWaiting: () => void;
}

export function openCheckStatus(
  { options, metrics }: AppContext,
  { lookUpDatabase, transactionChanges }: Store,
  { reauthorizeFor }: Authentication,
  { statusInquiries: { refresh } }: TransactionServices,
): CheckStatus {
  const lookUp = createTransactionLookUp(lookUpDatabase, {
    onBatch: (size) => metrics.lookUpBatchSize.observe(size),
    ...options.lookUp,
  });
  const durations = createProcessingTimes();
  transactionChanges.subscribe(({ bankName, durationMs }) => {
    if (durationMs !== null) durations.record(bankName, durationMs);
  });
  const retryAfter = createRetryAfter(durations);
  const refreshMs = options.settings.staleSeconds * 1000;
  const reauthorize = reauthorizeFor('status:read');
  const following = createLongPoll({
    lookUp,
    transactionChanges,
    retryAfter,
    refresh,
    refreshMs,
    reauthorize,
    ...options.longPoll,
  });
  return { status: { lookUp, retryAfter, follow: following.follow }, durations, endWaiting: following.end };
}
