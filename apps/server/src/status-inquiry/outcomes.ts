import { publishedReason } from '../domain/failure-reason.ts';
import { isFinal, type StatusUpdate } from '../domain/transaction.ts';
import { createBatcher } from '../lib/batcher.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Database } from '../postgres/database.ts';
import { type NextStatusInquiry, releaseStatusInquiries } from '../postgres/status-inquiries.ts';
import type { ClaimedStatusInquiry } from '../postgres/status-inquiry-claims.ts';
import type { StatusInquiryOutcome } from '../rails/rail.ts';
import type { ReceivedUpdate } from '../transactions/received-update.ts';
import type { TransactionUpdater } from '../transactions/transaction-updater.ts';
import { type CompletedInquiry, nextInquiry, unchangedInquiry } from './schedule.ts';

export interface InquiryOutcomesDependencies {
  readonly database: Database;
  readonly transactionUpdater: TransactionUpdater;
  readonly metrics: Pick<Metrics, 'transfersForReview'>;
  readonly log: Log;
  /** How long a bank may know nothing of a transfer before a person shall look into it. */
  readonly unknownGraceMs: number;
}

/** Where the answers of one rail go. Neither rejects: what could not be stored is asked again when its claim runs out. */
export interface InquiryOutcomes {
  /** Resolves when what was said is known to everybody. */
  store(asked: CompletedInquiry): Promise<void>;
  /** Nobody asked after all. */
  letGo(claimed: ClaimedStatusInquiry): Promise<void>;
}

type ReportedStatus = Extract<StatusInquiryOutcome, { kind: 'status' }>;
type ReportedInquiry = CompletedInquiry & { readonly outcome: ReportedStatus };

const BATCH_MAX = 200;

/** Answers that come while others are being stored are stored together. */
export function createInquiryOutcomes(rail: string, dependencies: InquiryOutcomesDependencies): InquiryOutcomes {
  const { database, transactionUpdater, metrics, log, unknownGraceMs } = dependencies;
  const batches = createBatcher<CompletedInquiry>((batch) => storeBatch(batch).catch(notStored), BATCH_MAX);

  const notStored = (error: unknown): void =>
    log.warn({ err: error, rail }, 'what the bank said about transfers could not be stored; it is asked again');

  async function storeBatch(batch: readonly CompletedInquiry[]): Promise<void> {
    const words = batch.filter(isReported);
    if (words.length > 0) await apply(words);
    // The ledger has ended what is final.
    const open = batch.filter(({ outcome }) => outcome.kind !== 'status' || !isFinal(outcome.status));
    const settled = open.map((asked) => ({ claimed: asked.claimed, next: nextInquiry(asked, unknownGraceMs) }));
    await releaseStatusInquiries(database, settled);
    for (const each of settled) noticeReview(each.claimed, each.next);
  }

  async function apply(words: readonly ReportedInquiry[]): Promise<void> {
    const now = new Date(Math.max(...words.map(({ at }) => at.getTime())));
    const applied = await transactionUpdater.apply(words.map(toReceivedUpdate), now);
    // The money came back after all, and somebody else had said SUCCESS meanwhile.
    const reversed = words.filter(({ outcome }, index) => outcome.reversed && applied[index]?.outcome === 'conflict');
    if (reversed.length > 0) await transactionUpdater.apply(reversed.map(toReversal), now);
  }

  function noticeReview(claimed: ClaimedStatusInquiry, settled: NextStatusInquiry): void {
    if (settled.reviewSince === null || claimed.reviewSince !== null) return;
    const { clientId, transactionId, railReference } = claimed;
    const { unknownSince } = settled;
    metrics.transfersForReview.inc({ rail });
    log.error(
      { rail, clientId, transactionId, railReference, unknownSince },
      'the bank knows nothing of a transfer that is in PROCESS: somebody has to find out whether the money has left',
    );
  }

  return {
    store: batches.add,
    letGo: (claimed) =>
      releaseStatusInquiries(database, [{ claimed, next: unchangedInquiry(claimed) }]).catch(notStored),
  };
}

const isReported = (asked: CompletedInquiry): asked is ReportedInquiry => asked.outcome.kind === 'status';

const sourceOf = ({ rail }: ClaimedStatusInquiry): string => `rail:${rail}`;

const toReceivedUpdate = ({ claimed, outcome }: ReportedInquiry, index: number): ReceivedUpdate => ({
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
  },
});

function toReversal({ claimed, outcome, at }: ReportedInquiry, index: number): ReceivedUpdate {
  const { clientId, transactionId } = claimed;
  const update: StatusUpdate = { clientId, transactionId, status: 'SUCCESS', reversedAt: at.toISOString() };
  return { line: index + 1, source: sourceOf(claimed), raw: rawOutcome(outcome), update };
}

const rawOutcome = ({ status, failureReason, processedAt, railCode }: ReportedStatus): string =>
  JSON.stringify({ status, failure_reason: failureReason, processed_at: processedAt, rail_code: railCode });
