import { publishedReason } from '../domain/failure-reason.ts';
import { isFinal } from '../domain/transaction.ts';
import { createBatcher } from '../lib/batcher.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Database, DatabaseUnavailable, retryWhileUnavailable } from '../postgres/database.ts';
import { type NextStatusInquiry, releaseStatusInquiries } from '../postgres/status-inquiries.ts';
import type { ClaimedStatusInquiry } from '../postgres/status-inquiry-claims.ts';
import type { StatusInquiryOutcome } from '../rails/rail.ts';
import type { ReceivedUpdate } from '../transactions/decide.ts';
import type { TransactionUpdater } from '../transactions/transaction-updater.ts';
import { type CompletedInquiry, nextInquiry, unchangedInquiry } from './schedule.ts';

export interface InquiryOutcomesDependencies {
  readonly database: Database;
  readonly transactionUpdater: TransactionUpdater;
  readonly metrics: Pick<Metrics, 'transfersForReview'>;
  readonly log: Log;
  /** How long a bank may not know a transfer before a person has to review it. */
  readonly unknownGraceMs: number;
  /** Aborted when the process stops: answers that could not be stored are then dropped. */
  readonly stopping: AbortSignal;
}

/**
 * Stores the outcomes of one rail's status inquiries. Neither function rejects: an inquiry whose outcome could not be
 * stored is made again when its lease ends. It is not when another source has ended the transaction in the meantime, so
 * a final answer, which may be a reversal, is kept for a minute until PostgreSQL is back.
 */
export interface InquiryOutcomes {
  /** Resolves when the outcome is committed. */
  store(completed: CompletedInquiry): Promise<void>;
  /** Releases a claim without an inquiry. */
  release(claimed: ClaimedStatusInquiry): Promise<void>;
}

type StatusOutcome = Extract<StatusInquiryOutcome, { kind: 'status' }>;
type InquiryWithStatus = CompletedInquiry & { readonly outcome: StatusOutcome };

const BATCH_MAX = 200;
/** Longer than a restart of PostgreSQL takes. */
const RETRY_MS = 60_000;

/** Outcomes that arrive while others are being stored are stored together. */
export function createInquiryOutcomes(rail: string, dependencies: InquiryOutcomesDependencies): InquiryOutcomes {
  const { database, transactionUpdater, metrics, log, unknownGraceMs, stopping } = dependencies;
  const batches = createBatcher(storeOrRetry, BATCH_MAX);
  /** Apart from the others: on a distributed PostgreSQL, only those of some clients may have to wait. */
  const retries = createBatcher(retry, BATCH_MAX);

  const logFailure = (error: unknown): void =>
    log.warn({ err: error, rail }, 'storing status inquiry outcomes failed; will inquire again when the lease ends');
  const logRetry = (error: unknown): void =>
    log.warn({ err: error, rail }, 'storing status inquiry outcomes failed; will retry those that are final');

  async function storeOrRetry(batch: readonly CompletedInquiry[]): Promise<(Promise<void> | undefined)[]> {
    try {
      await storeBatch(batch);
      return [];
    } catch (error) {
      const isRetried = error instanceof DatabaseUnavailable && batch.some(hasFinalStatus);
      (isRetried ? logRetry : logFailure)(error);
      return batch.map((completed) => (isRetried && hasFinalStatus(completed) ? retries.add(completed) : undefined));
    }
  }

  async function retry(inquiries: readonly InquiryWithStatus[]): Promise<void> {
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(RETRY_MS)]);
    const store = () => apply(inquiries).then(() => true);
    const isStored = await retryWhileUnavailable(store, { signal }).catch(logFailure);
    if (isStored !== true) reportNotStored(log, rail, inquiries);
  }

  async function storeBatch(batch: readonly CompletedInquiry[]): Promise<void> {
    const withStatus = batch.filter(hasStatus);
    if (withStatus.length > 0) await apply(withStatus);
    // A final update has ended the inquiries about its transaction already.
    const open = batch.filter(({ outcome }) => outcome.kind !== 'status' || !isFinal(outcome.status));
    const releases = open.map((completed) => ({
      claimed: completed.claimed,
      next: nextInquiry(completed, unknownGraceMs),
    }));
    await releaseStatusInquiries(database, releases);
    for (const { claimed, next } of releases) reportReview(claimed, next);
  }

  async function apply(inquiries: readonly InquiryWithStatus[]): Promise<void> {
    const now = new Date(Math.max(...inquiries.map(({ at }) => at.getTime())));
    // One database transaction for all that an answer says: what is not stored with it is lost if the transaction has
    // ended in the meantime, because there are no inquiries about it any more.
    await transactionUpdater.apply(inquiries.map(toReceivedUpdate), now);
  }

  function reportReview(claimed: ClaimedStatusInquiry, next: NextStatusInquiry): void {
    if (next.reviewSince === null || claimed.reviewSince !== null) return;
    const { clientId, transactionId, railReference } = claimed;
    metrics.transfersForReview.inc({ rail });
    log.error(
      { rail, clientId, transactionId, railReference, unknownSince: next.unknownSince },
      'bank does not know a transfer in PROCESS; review whether the money has left the account',
    );
  }

  return {
    store: (completed) => batches.add(completed),
    release: (claimed) =>
      releaseStatusInquiries(database, [{ claimed, next: unchangedInquiry(claimed) }]).catch(logFailure),
  };
}

const hasStatus = (completed: CompletedInquiry): completed is InquiryWithStatus => completed.outcome.kind === 'status';

const hasFinalStatus = (completed: CompletedInquiry): completed is InquiryWithStatus =>
  hasStatus(completed) && isFinal(completed.outcome.status);

/** There may be no inquiries about these any more, so nothing but this line says what the bank has answered. */
function reportNotStored(log: Log, rail: string, inquiries: readonly InquiryWithStatus[]): void {
  const transactions = inquiries.map(({ claimed: { clientId, transactionId }, outcome: { status } }) => ({
    clientId,
    transactionId,
    status,
  }));
  log.error(
    { rail, transactions },
    'final answers of a bank were not stored; will inquire again about those that are still in PROCESS; ' +
      'compare the others with the bank: it may have returned the money',
  );
}

const sourceOf = ({ rail }: ClaimedStatusInquiry): string => `rail:${rail}`;

const toReceivedUpdate = ({ claimed, outcome, at }: InquiryWithStatus, index: number): ReceivedUpdate => ({
  line: index + 1,
  source: sourceOf(claimed),
  raw: rawOutcome(outcome),
  update: {
    clientId: claimed.clientId,
    transactionId: claimed.transactionId,
    status: outcome.status,
    ...(outcome.processedAt === undefined ? {} : { processedAt: outcome.processedAt }),
    ...(outcome.status === 'FAILED'
      ? { failureReason: publishedReason(outcome.failureReason ?? 'REJECTED_BY_BANK') }
      : {}),
    ...(outcome.reversed === true ? { refundedAt: at.toISOString() } : {}),
  },
});

const rawOutcome = ({ status, failureReason, processedAt, railCode }: StatusOutcome): string =>
  JSON.stringify({ status, failure_reason: failureReason, processed_at: processedAt, rail_code: railCode });
