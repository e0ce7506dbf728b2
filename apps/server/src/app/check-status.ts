import { createUnfinishedAnswers } from '../http/check-status/answer-unfinished.ts';
import type { CheckStatusDependencies } from '../http/check-status/check-status.ts';
import { createRetryAfter } from '../http/check-status/transaction-answer.ts';
import { createOpenWaits } from '../http/open-waits.ts';
import { createTransactionLookUp } from '../postgres/transaction-look-up.ts';
import { createProcessingTimes, type ProcessingTimes } from '../transactions/processing-times.ts';
import type { AppContext } from './app-context.ts';
import type { Authentication } from './authentication.ts';
import type { PostgresServices } from './postgres.ts';
import type { SharedLimits } from './shared-limits.ts';
import type { TransactionServices } from './transactions.ts';

/** Answers check-status: at once, by long-poll, or as a stream. */
export interface CheckStatusServices {
  readonly checkStatus: Omit<CheckStatusDependencies, 'authorize'>;
  /** How long each bank takes to process a transfer, learned from the status changes. */
  readonly processingTimes: ProcessingTimes;
  /** Ends all long-polls and streams: each is answered with the current status. */
  readonly endLongPolls: () => void;
}

interface OpenCheckStatusDependencies {
  readonly authentication: Authentication;
  readonly transactions: TransactionServices;
  readonly sharedLimits: Pick<SharedLimits, 'createConcurrencyLimiter'>;
}

export function openCheckStatus(
  { options, metrics }: AppContext,
  { lookUpDatabase, transactionChanges, now }: PostgresServices,
  { authentication, transactions, sharedLimits }: OpenCheckStatusDependencies,
): CheckStatusServices {
  const { reauthorizeFor, countCost } = authentication;
  const { refresh } = transactions.statusInquiries;
  const lookUp = createTransactionLookUp(lookUpDatabase, {
    onBatch: (size) => metrics.lookUpBatchSize.observe(size),
    ...options.lookUp,
  });
  const processingTimes = createProcessingTimes(now);
  transactionChanges.subscribe(({ bankName, durationMs }) => {
    if (durationMs !== null) processingTimes.record(bankName, durationMs);
  });
  const retryAfter = createRetryAfter(processingTimes);
  const answers = createUnfinishedAnswers({
    lookUp,
    transactionChanges,
    retryAfter,
    refresh,
    refreshMs: options.settings.staleSeconds * 1000,
    reauthorize: reauthorizeFor('status:read'),
    openWaits: createOpenWaits(sharedLimits.createConcurrencyLimiter('waits')),
    ...options.longPoll,
  });
  const checkStatus = { countCost, lookUp, retryAfter, answerUnfinished: answers.answer };
  return { checkStatus, processingTimes, endLongPolls: answers.stop };
}
