import { AccountNumber } from '../domain/account.ts';
import type { BankDirectory } from '../domain/bank.ts';
import { keyOf } from '../domain/identifiers.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Span, type Tracing, traceFields } from '../observability/tracing/tracing.ts';
import type { ClaimedStatusInquiry } from '../postgres/status-inquiry-claims.ts';
import type { TransactionKey } from '../postgres/transactions.ts';
import type { Rail, StatusInquiry, StatusInquiryOutcome } from '../rails/rail.ts';
import type { MonotonicClock } from '../rate-limit/sliding-window.ts';
import type { AdaptiveConcurrency, BankEvidence } from './adaptive-concurrency.ts';
import type { InquiryTrigger } from './schedule.ts';
import type { InquiryOutcomes } from './store-outcomes.ts';

export type StatusInquiryRail = Rail & Required<Pick<Rail, 'inquireStatus'>>;

export const supportsStatusInquiry = (rail: Rail): rail is StatusInquiryRail => rail.inquireStatus !== undefined;

/** A rail that supports status inquiries, with its state. */
export interface InquiryRail {
  readonly rail: StatusInquiryRail;
  readonly concurrency: AdaptiveConcurrency;
  readonly outcomes: InquiryOutcomes;
}

/** By the rail's name. */
export type InquiryRails = ReadonlyMap<string, InquiryRail>;

export interface InFlightInquiriesDependencies {
  readonly banks: BankDirectory;
  readonly metrics: Pick<Metrics, 'statusInquiries'>;
  readonly log: Log;
  readonly clock: MonotonicClock;
  readonly tracing: Tracing | null;
  /** The longest wait for a bank's answer. */
  readonly timeoutMs: number;
}

/** The status inquiries that this process has in flight. */
export interface InFlightInquiries {
  /**
   * Starts an inquiry in a slot that was acquired from the rail's concurrency limit. Resolves when the answer is stored
   * or the inquiry has failed, with the outcome, or null if it was aborted; never rejects. `reader` is the request that
   * reads the transaction, if it is traced.
   */
  start(
    inquiryRail: InquiryRail,
    claimed: ClaimedStatusInquiry,
    trigger: InquiryTrigger,
    reader?: Span,
  ): Promise<StatusInquiryOutcome | null>;
  /** The inquiry about this transaction, while it is in flight. */
  find(key: TransactionKey): Promise<StatusInquiryOutcome | null> | undefined;
  /** Resolves when the inquiries that are in flight now have ended. */
  whenIdle(): Promise<void>;
  /** Aborts the inquiries in flight; none starts any more. */
  close(): void;
}

export function createInFlightInquiries(dependencies: InFlightInquiriesDependencies): InFlightInquiries {
  const { banks, metrics, log, clock, tracing, timeoutMs } = dependencies;
  const inFlight = new Map<string, Promise<StatusInquiryOutcome | null>>();
  const timeouts = new Set<AbortController>();
  let closing = false;

  async function inquire(
    rail: StatusInquiryRail,
    claimed: ClaimedStatusInquiry,
    span: Span | undefined,
  ): Promise<StatusInquiryOutcome> {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), timeoutMs);
    timeouts.add(timeout);
    try {
      return await rail.inquireStatus(inquiryOf(claimed, banks), timeout.signal);
    } catch (error) {
      // The rail port promises not to reject. One inquiry that cannot be made must not stop the others.
      log.error(
        { err: error, rail: rail.name, transactionId: claimed.transactionId, ...traceFields(span) },
        'status inquiry could not be made; will retry as scheduled',
      );
      return { kind: 'no_status', reason: 'internal_error', railCode: null };
    } finally {
      clearTimeout(timer);
      timeouts.delete(timeout);
    }
  }

  async function inquireAndStore(
    { rail, concurrency, outcomes }: InquiryRail,
    claimed: ClaimedStatusInquiry,
    trigger: InquiryTrigger,
    reader: Span | undefined,
  ): Promise<StatusInquiryOutcome | null> {
    if (closing) return releaseUnasked(outcomes, claimed);
    const onEnd = concurrency.start();
    const startedMs = performance.now();
    const span =
      tracing === null ? undefined : beginSpan(tracing, rail, claimed, trigger === 'schedule' ? 'schedule' : reader);
    const outcome = await inquire(rail, claimed, span);
    const durationMs = performance.now() - startedMs;
    if (span !== undefined) endSpan(span, outcome);
    // An aborted inquiry says nothing about the bank.
    if (closing && outcome.kind === 'no_status') return releaseUnasked(outcomes, claimed);
    onEnd(evidenceOf(outcome), clock());
    metrics.statusInquiries.record(rail.name, outcomeLabel(outcome), durationMs, span);
    await outcomes.store({ claimed, trigger, outcome, at: new Date(Date.parse(claimed.claimedAt) + durationMs) });
    return outcome;
  }

  return {
    start(inquiryRail, claimed, trigger, reader) {
      const key = keyOfTransaction(claimed);
      const inquiry = inquireAndStore(inquiryRail, claimed, trigger, reader).finally(() => {
        if (inFlight.get(key) === inquiry) inFlight.delete(key);
      });
      inFlight.set(key, inquiry);
      return inquiry;
    },
    find: (key) => inFlight.get(keyOfTransaction(key)),
    async whenIdle() {
      await Promise.all(inFlight.values());
    },
    close() {
      closing = true;
      for (const timeout of timeouts) timeout.abort();
    },
  };
}

async function releaseUnasked(outcomes: InquiryOutcomes, claimed: ClaimedStatusInquiry): Promise<null> {
  await outcomes.release(claimed);
  return null;
}

function inquiryOf(claimed: ClaimedStatusInquiry, banks: BankDirectory): StatusInquiry {
  const accountNumber = AccountNumber.parse(claimed.accountNumber);
  if (accountNumber === null) throw new Error('the stored account number is invalid');
  return {
    reference: claimed.railReference,
    amount: claimed.amount,
    currency: claimed.currency,
    createdAt: claimed.createdAt,
    bank: banks.find(claimed.bankCode),
    accountNumber,
    serviceCode: claimed.serviceCode,
  };
}

/** A bank that rejects an inquiry has read it. An error of this service says nothing about the bank. */
function evidenceOf(outcome: StatusInquiryOutcome): BankEvidence {
  if (outcome.kind !== 'no_status' || outcome.reason === 'rejected_by_bank') return 'answered';
  return outcome.reason === 'internal_error' ? 'none' : 'failed';
}

/** A scheduled inquiry is a trace of its own, and one for a reader a part of the reader's request. */
function beginSpan(
  tracing: Tracing,
  rail: Rail,
  { clientId, transactionId, bankCode }: ClaimedStatusInquiry,
  cause: 'schedule' | Span | undefined,
): Span | undefined {
  const parent = cause === 'schedule' ? tracing : cause;
  const span = parent?.begin('status inquiry', 'client', {
    'tiba.rail': rail.name,
    'tiba.bank': bankCode,
    'tiba.client_id': clientId,
    'tiba.transaction_id': transactionId,
    'tiba.trigger': cause === 'schedule' ? cause : 'reader',
  });
  // Before the outcome is stored: its callback may be sent at once.
  if (span !== undefined) tracing.causes.remember(clientId, transactionId, span);
  return span;
}

function endSpan(span: Span, outcome: StatusInquiryOutcome): void {
  const { railCode } = outcome;
  const attributes = {
    'tiba.outcome': outcomeLabel(outcome),
    ...(railCode === null ? {} : { 'tiba.rail_code': railCode }),
  };
  span.end(attributes, outcome.kind === 'no_status' ? outcome.reason : undefined);
}

function outcomeLabel(outcome: StatusInquiryOutcome): string {
  if (outcome.kind === 'status') return outcome.status;
  return outcome.kind === 'no_status' ? outcome.reason : outcome.kind;
}

export const keyOfTransaction = ({ clientId, transactionId }: TransactionKey): string => keyOf(clientId, transactionId);
