import { createBatches } from '../batches.ts';
import { publishedReason } from '../domain/failure-reason.ts';
import { isFinal, type Word } from '../domain/transaction.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SaidWord } from '../ledger/said-word.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Database } from '../postgres/database.ts';
import { type SettledInquiry, settleInquiries } from '../postgres/transfer-inquiries.ts';
import type { ClaimedInquiry } from '../postgres/transfer-inquiry-claims.ts';
import type { TransferOutcome } from '../rails/rail.ts';
import { type Asked, settle, unasked } from './schedule.ts';

export interface AnswersParts {
  readonly database: Database;
  readonly ledger: Ledger;
  readonly metrics: Pick<Metrics, 'transfersForReview'>;
  readonly log: Log;
  /** How long a bank may know nothing of a transfer before a person shall look into it. */
  readonly unknownGraceMs: number;
}

/** Where the answers of one rail go. Neither rejects: what could not be stored is asked again when its claim runs out. */
export interface Answers {
  /** Resolves when what was said is known to everybody. */
  store(asked: Asked): Promise<void>;
  /** Nobody asked after all. */
  letGo(claimed: ClaimedInquiry): Promise<void>;
}

type TransferWord = Extract<TransferOutcome, { kind: 'word' }>;
type AskedWord = Asked & { readonly outcome: TransferWord };

const BATCH_MAX = 200;

/** Answers that come while others are being stored are stored together. */
export function createAnswers(rail: string, parts: AnswersParts): Answers {
  const { database, ledger, metrics, log, unknownGraceMs } = parts;
  const batches = createBatches<Asked>((batch) => storeBatch(batch).catch(notStored), BATCH_MAX);

  const notStored = (error: unknown): void =>
    log.warn({ err: error, rail }, 'what the bank said about transfers could not be stored; it is asked again');

  async function storeBatch(batch: readonly Asked[]): Promise<void> {
    const words = batch.filter(isWord);
    if (words.length > 0) await apply(words);
    // The ledger has ended what is final.
    const open = batch.filter(({ outcome }) => outcome.kind !== 'word' || !isFinal(outcome.status));
    const settled = open.map((asked) => ({ claimed: asked.claimed, settled: settle(asked, unknownGraceMs) }));
    await settleInquiries(database, settled);
    for (const each of settled) noticeReview(each.claimed, each.settled);
  }

  async function apply(words: readonly AskedWord[]): Promise<void> {
    const now = new Date(Math.max(...words.map(({ at }) => at.getTime())));
    const applied = await ledger.apply(words.map(sayWord), now);
    // The money came back after all, and somebody else had said SUCCESS meanwhile.
    const reversed = words.filter(({ outcome }, index) => outcome.reversed && applied[index]?.outcome === 'conflict');
    if (reversed.length > 0) await ledger.apply(reversed.map(sayReversal), now);
  }

  function noticeReview(claimed: ClaimedInquiry, settled: SettledInquiry): void {
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
    letGo: (claimed) => settleInquiries(database, [{ claimed, settled: unasked(claimed) }]).catch(notStored),
  };
}

const isWord = (asked: Asked): asked is AskedWord => asked.outcome.kind === 'word';

const sourceOf = ({ rail }: ClaimedInquiry): string => `rail:${rail}`;

const sayWord = ({ claimed, outcome }: AskedWord, index: number): SaidWord => ({
  line: index + 1,
  source: sourceOf(claimed),
  said: said(outcome),
  word: {
    clientId: claimed.clientId,
    transactionId: claimed.transactionId,
    status: outcome.status,
    ...(outcome.processedAt === undefined ? {} : { processedAt: outcome.processedAt }),
    ...(outcome.status === 'FAILED'
      ? { failureReason: publishedReason(outcome.failureReason ?? 'REJECTED_BY_BANK') }
      : {}),
  },
});

function sayReversal({ claimed, outcome, at }: AskedWord, index: number): SaidWord {
  const { clientId, transactionId } = claimed;
  const word: Word = { clientId, transactionId, status: 'SUCCESS', reversedAt: at.toISOString() };
  return { line: index + 1, source: sourceOf(claimed), said: said(outcome), word };
}

const said = ({ status, failureReason, processedAt, railCode }: TransferWord): string =>
  JSON.stringify({ status, failure_reason: failureReason, processed_at: processedAt, rail_code: railCode });
