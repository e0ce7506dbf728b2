import { AccountNumber } from '../domain/account.ts';
import type { BankDirectory } from '../domain/bank.ts';
import { keyOf } from '../domain/identifiers.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
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
}

/** The status inquiries that this process has in flight. */
export interface InFlightInquiries {
  /**
   * Starts an inquiry in a slot that was acquired from the rail's concurrency limit. Resolves when the answer is stored
   * or the inquiry has failed; never rejects.
   */
  start(inquiryRail: InquiryRail, claimed: ClaimedStatusInquiry, trigger: InquiryTrigger): Promise<void>;
  /** The inquiry about this transaction, while it is in flight. */
  find(key: TransactionKey): Promise<void> | undefined;
  /** Resolves when the inquiries that are in flight now have ended. */
  whenIdle(): Promise<void>;
  /** Aborts the inquiries in flight; none starts any more. */
  close(): void;
}

/** The longest wait for a bank's answer. */
const TIMEOUT_MS = 4_000;

export function createInFlightInquiries({
  banks,
  metrics,
  log,
  clock,
}: InFlightInquiriesDependencies): InFlightInquiries {
  const inFlight = new Map<string, Promise<void>>();
  const timeouts = new Set<AbortController>();
  let closing = false;

  async function inquire(rail: StatusInquiryRail, claimed: ClaimedStatusInquiry): Promise<StatusInquiryOutcome> {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), TIMEOUT_MS);
    timeouts.add(timeout);
    try {
      return await rail.inquireStatus(inquiryOf(claimed, banks), timeout.signal);
    } catch (error) {
      // The rail port promises not to reject. One inquiry that cannot be made must not stop the others.
      log.error(
        { err: error, rail: rail.name, transactionId: claimed.transactionId },
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
  ): Promise<void> {
    if (closing) return outcomes.release(claimed);
    const onEnd = concurrency.start();
    const startedMs = performance.now();
    const outcome = await inquire(rail, claimed);
    const durationMs = performance.now() - startedMs;
    // An aborted inquiry says nothing about the bank.
    if (closing && outcome.kind === 'no_status') return outcomes.release(claimed);
    onEnd(evidenceOf(outcome), clock());
    metrics.statusInquiries.record(rail.name, outcomeLabel(outcome), durationMs);
    const at = new Date(Date.parse(claimed.claimedAt) + durationMs);
    return outcomes.store({ claimed, trigger, outcome, at });
  }

  return {
    start(inquiryRail, claimed, trigger) {
      const key = keyOfTransaction(claimed);
      const inquiry = inquireAndStore(inquiryRail, claimed, trigger).finally(() => {
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
  };
}

/** A bank that rejects an inquiry has read it. An error of this service says nothing about the bank. */
function evidenceOf(outcome: StatusInquiryOutcome): BankEvidence {
  if (outcome.kind !== 'no_status' || outcome.reason === 'rejected_by_bank') return 'answered';
  return outcome.reason === 'internal_error' ? 'none' : 'failed';
}

function outcomeLabel(outcome: StatusInquiryOutcome): string {
  if (outcome.kind === 'status') return outcome.status;
  return outcome.kind === 'no_status' ? outcome.reason : outcome.kind;
}

export const keyOfTransaction = ({ clientId, transactionId }: TransactionKey): string => keyOf(clientId, transactionId);
