import { AccountNumber } from '../domain/account.ts';
import type { BankDirectory } from '../domain/bank.ts';
import { keyOf } from '../domain/identifiers.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { ClaimedStatusInquiry } from '../postgres/status-inquiry-claims.ts';
import type { TransactionKey } from '../postgres/transactions.ts';
import type { StatusInquiry, StatusInquiryOutcome } from '../rails/rail.ts';
import type { InquiryRail, StatusInquiryRail } from './inquiry-rail.ts';
import type { InquiryTrigger } from './schedule.ts';

export interface InFlightInquiriesDependencies {
  readonly banks: BankDirectory;
  readonly metrics: Pick<Metrics, 'statusInquiries'>;
  readonly log: Log;
}

/** What this process is asking banks about. */
export interface InFlightInquiries {
  /**
   * Asks, in a place that was taken from the rail's pace. Resolves when the answer is stored, or is not to be had; never
   * rejects.
   */
  begin(askedRail: InquiryRail, claimed: ClaimedStatusInquiry, occasion: InquiryTrigger, now: Date): Promise<void>;
  /** The question about this transaction, while it is under way. */
  about(key: TransactionKey): Promise<void> | undefined;
  /** Resolves when those that are under way now have ended. */
  ended(): Promise<void>;
  /** No question begins any more, and none is waited for. */
  close(): void;
}

/** Nobody waits for a bank longer than this. */
const DEADLINE_MS = 4_000;

export function createInFlightInquiries({ banks, metrics, log }: InFlightInquiriesDependencies): InFlightInquiries {
  const underWay = new Map<string, Promise<void>>();
  const deadlines = new Set<AbortController>();
  let closing = false;

  async function put(rail: StatusInquiryRail, claimed: ClaimedStatusInquiry): Promise<StatusInquiryOutcome> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), DEADLINE_MS);
    deadlines.add(deadline);
    try {
      return await rail.inquireStatus(inquiryOf(claimed, banks), deadline.signal);
    } catch (error) {
      // Against the port's promise. One question that cannot be put must not stop the others.
      log.error(
        { err: error, rail: rail.name, transactionId: claimed.transactionId },
        'a transfer cannot be asked about',
      );
      return { kind: 'no_status', reason: 'rejected_by_bank', railCode: null };
    } finally {
      clearTimeout(timer);
      deadlines.delete(deadline);
    }
  }

  async function ask(
    { rail, concurrency, outcomes }: InquiryRail,
    claimed: ClaimedStatusInquiry,
    trigger: InquiryTrigger,
    now: Date,
  ): Promise<void> {
    if (closing) return outcomes.letGo(claimed);
    const ended = concurrency.begin();
    const startedMs = performance.now();
    const outcome = await put(rail, claimed);
    const tookMs = performance.now() - startedMs;
    // What was cut short says nothing about the bank.
    if (closing && outcome.kind === 'no_status') return outcomes.letGo(claimed);
    const at = new Date(now.getTime() + tookMs);
    ended(outcome.kind !== 'no_status' || outcome.reason === 'rejected_by_bank', at.getTime());
    metrics.statusInquiries.record(rail.name, labelOfTransfer(outcome), tookMs);
    return outcomes.store({ claimed, trigger, outcome, at });
  }

  return {
    begin(askedRail, claimed, occasion, now) {
      const key = keyOfTransaction(claimed);
      const question = ask(askedRail, claimed, occasion, now).finally(() => {
        if (underWay.get(key) === question) underWay.delete(key);
      });
      underWay.set(key, question);
      return question;
    },
    about: (key) => underWay.get(keyOfTransaction(key)),
    async ended() {
      await Promise.all(underWay.values());
    },
    close() {
      closing = true;
      for (const deadline of deadlines) deadline.abort();
    },
  };
}

function inquiryOf(claimed: ClaimedStatusInquiry, banks: BankDirectory): StatusInquiry {
  const accountNumber = AccountNumber.parse(claimed.accountNumber);
  if (accountNumber === null) throw new Error('the account number that is stored is none');
  return {
    reference: claimed.railReference,
    amount: claimed.amount,
    currency: claimed.currency,
    createdAt: claimed.createdAt,
    bank: banks.find(claimed.bankCode),
    accountNumber,
  };
}

function labelOfTransfer(outcome: StatusInquiryOutcome): string {
  if (outcome.kind === 'status') return outcome.status;
  return outcome.kind === 'no_status' ? outcome.reason : outcome.kind;
}

export const keyOfTransaction = ({ clientId, transactionId }: TransactionKey): string => keyOf(clientId, transactionId);
