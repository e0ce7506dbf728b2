import type { CheckStatusParts } from '../http/check-status/check-status.ts';
import { createStatusFollowing } from '../http/check-status/following.ts';
import { createRetryAfter } from '../http/check-status/retry-after.ts';
import { createDurations, type Durations } from '../ledger/durations.ts';
import { createTransactionLookUp } from '../postgres/transaction-look-up.ts';
import type { Authentication } from './authentication.ts';
import type { Stage } from './parts.ts';
import type { Statuses } from './statuses.ts';
import type { Store } from './store.ts';

/** What tells clients how their transactions are: answers, waiting, streams. */
export interface CheckStatus {
  readonly status: Omit<CheckStatusParts, 'gate'>;
  /** How long banks take, as heard of with each change. */
  readonly durations: Durations;
  /** Nobody waits any longer: each gets what is known. */
  readonly endWaiting: () => void;
}

export function openCheckStatus(
  { options, metrics }: Stage,
  { lookUpDatabase, changes }: Store,
  { recheckFor }: Authentication,
  { asking: { refresh } }: Statuses,
): CheckStatus {
  const lookUp = createTransactionLookUp(lookUpDatabase, {
    onBatch: (size) => metrics.lookUpBatchSize.observe(size),
    ...options.lookUp,
  });
  const durations = createDurations();
  changes.hearAll(({ bankName, durationMs }) => {
    if (durationMs !== null) durations.heard(bankName, durationMs);
  });
  const retryAfter = createRetryAfter(durations);
  const refreshMs = options.settings.staleSeconds * 1000;
  const recheck = recheckFor('status:read');
  const following = createStatusFollowing({
    lookUp,
    changes,
    retryAfter,
    refresh,
    refreshMs,
    recheck,
    ...options.following,
  });
  return { status: { lookUp, retryAfter, follow: following.follow }, durations, endWaiting: following.end };
}
