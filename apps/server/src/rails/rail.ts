import type { AccountNumber, Verdict } from '../domain/account.ts';
import type { Bank } from '../domain/bank.ts';
import type { FailureReason } from '../domain/failure-reason.ts';
import type { Status } from '../domain/transaction.ts';

/** One question about an account: does it exist, and can it receive funds? */
export interface AccountInquiry {
  readonly bank: Bank;
  readonly accountNumber: AccountNumber;
}

/**
 * What a rail answers. An expected failure is a value, and it says what to do next. Whatever the bank says that is
 * not understood for certain is `no_verdict`: it is never taken for "not found".
 */
export type InquiryOutcome =
  | {
      readonly kind: 'verdict';
      readonly verdict: Verdict;
      readonly railCode: string;
      /** The name of the rail that answered. Set by who chose it. */
      readonly rail?: string;
      /** NOT_FOUND by a rail that cannot tell a closed account from one that never was. Set by who chose the rail. */
      readonly mayBeClosed?: true;
    }
  /** The bank could not say. `railCode` is its own word for why, for the log and the operator only. */
  | {
      readonly kind: 'no_verdict';
      readonly reason: NoVerdictReason;
      readonly railCode: string | null;
      /** The name of the rail that was asked last; absent where none was. Set by who chose it. */
      readonly rail?: string;
      /** When asking again makes sense, where that is known. Set by who chose the rail. */
      readonly retryAfterMs?: number;
    };

/** What a rail has no room or no code for would only be refused: it is not sent. */
export const NOT_SUPPORTED: InquiryOutcome = { kind: 'no_verdict', reason: 'rejected_by_bank', railCode: null };

/** What it came to, for logs and metrics: the verdict, in capitals, or why there is none. */
export const outcomeLabel = (outcome: InquiryOutcome): string =>
  outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;

export type NoVerdictReason =
  /** Nothing, or not enough, came in time. */
  | 'timeout'
  /** The connection failed. */
  | 'unreachable'
  /** The bank said that it cannot answer now. */
  | 'bank_unavailable'
  /** The bank asks for fewer questions. */
  | 'throttled'
  /** The bank refused the operator: wrong credentials, signature, contract. */
  | 'credentials_rejected'
  /** The bank refused this one question, for its form or for the account in it. It would answer another. */
  | 'rejected_by_bank'
  /** The answer is malformed, names something else than what was asked, or means nothing known. */
  | 'invalid_response'
  /** No rail leads to the bank, today as tomorrow. No rail answers this: it is said by who chooses one. */
  | 'no_rail'
  | NotSentReason;

/** The question did not go out yet: it may later. No rail answers this: it is said by who protects the bank. */
export const NOT_SENT_REASONS = [
  /** The bank has failed too often, and is given a rest. */
  'circuit_open',
  /** As many questions as it may have are under way. */
  'bulkhead_full',
  /** The contract allows no more questions now. */
  'quota_exhausted',
] as const;
export type NotSentReason = (typeof NOT_SENT_REASONS)[number];

export const isNotSent = (reason: NoVerdictReason): reason is NotSentReason =>
  (NOT_SENT_REASONS as readonly string[]).includes(reason);

/** One question about a transfer: what has become of it? */
export interface StatusInquiry {
  /** The transfer's name on the rail. */
  readonly reference: string;
  /** Exact, with two places, such as `150000.00`. */
  readonly amount: string;
  /** ISO 4217. */
  readonly currency: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  /** The recipient's; null when it is not in the directory. */
  readonly bank: Bank | null;
  readonly accountNumber: AccountNumber;
}

/** What a rail answers about a transfer. Only `word` can move a status. `railCode` is for the operator. */
export type StatusInquiryOutcome =
  | {
      readonly kind: 'status';
      readonly status: Status;
      /** With FAILED only. */
      readonly failureReason?: FailureReason;
      /** ISO 8601 UTC. */
      readonly processedAt?: string;
      /** The bank gave the money back: FAILED, or a reversal where SUCCESS is known already. */
      readonly reversed?: boolean;
      readonly railCode: string;
    }
  /** The bank knows nothing of it, yet or any more: that is not a failure, because the money may be on its way. */
  | { readonly kind: 'unknown_transfer'; readonly railCode: string }
  /** The bank could not say. */
  | { readonly kind: 'no_status'; readonly reason: NoVerdictReason; readonly railCode: string | null };

/** The port: a way to a bank system. What leaves it is the domain's vocabulary; the protocol's words stay inside. */
export interface Rail {
  /** As the operator named it. */
  readonly name: string;
  /** Whether its NOT_FOUND means an account that never was, and a closed one is told apart. Absent: it does not. */
  readonly distinguishesClosed?: boolean;
  reaches(bank: Bank): boolean;
  /** Whether the protocol has room for this account's number; absent, for any. What it has no room for is not put to it. */
  supportsAccountNumber?(inquiry: AccountInquiry): boolean;
  /** Never rejects. `signal` fires when nobody waits for the answer any more. */
  inquireAccount(inquiry: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome>;
  /** Absent where the rail cannot be asked about transfers. Never rejects. */
  inquireStatus?(inquiry: StatusInquiry, signal: AbortSignal): Promise<StatusInquiryOutcome>;
  close(): Promise<void>;
}
