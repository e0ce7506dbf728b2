import type { AccountNumber, Verdict } from '../domain/account.ts';
import type { Bank } from '../domain/bank.ts';
import type { FailureReason } from '../domain/failure-reason.ts';
import type { Status } from '../domain/transaction.ts';
import type { Span } from '../observability/tracing/tracing.ts';

/**
 * The words of this folder:
 *
 * - rail: a connection to a bank system, over one protocol. It leads to one bank or to many.
 * - account inquiry: does this account exist, and can it receive funds? (SNAP services 15, 16, 37; acmt.023, pacs.008)
 * - status inquiry: what is the status of this transfer? (SNAP service 36, pacs.028)
 * - verdict: the bank's certain answer about an account. Everything else is "no verdict", with a reason.
 * - rail code: the bank's own code, for the log and the operator only.
 */

export interface AccountInquiry {
  readonly bank: Bank;
  readonly accountNumber: AccountNumber;
}

/** An account inquiry and the client that causes it. Rails do not need the client; what protects a bank does. */
export interface ClientInquiry extends AccountInquiry {
  readonly clientId: string;
  /**
   * When the client's request must have the outcome, on the monotonic clock in milliseconds. Absent where nothing but
   * the deadline of an inquiry limits it.
   */
  readonly deadlineMs?: number | undefined;
  /** What the inquiry is a step of, if that is traced. */
  readonly span?: Span | undefined;
}

/**
 * The result of an account inquiry. An expected failure is a value, and its reason says what to do next. A reply that
 * is not understood for certain is `no_verdict`; it never becomes NOT_FOUND.
 */
export type InquiryOutcome =
  | {
      readonly kind: 'verdict';
      readonly verdict: Verdict;
      readonly railCode: string;
      /** The name of the rail that answered. Set by the code that chose the rail. */
      readonly rail?: string;
      /** With NOT_FOUND, from a rail that cannot distinguish a closed account. Set by the code that chose the rail. */
      readonly mayBeClosed?: true;
    }
  | {
      readonly kind: 'no_verdict';
      readonly reason: NoVerdictReason;
      readonly railCode: string | null;
      /** The name of the rail that was tried last; absent where none was. Set by the code that chose the rail. */
      readonly rail?: string;
      /** When a retry makes sense, where that is known. Set by the code that chose the rail. */
      readonly retryAfterMs?: number;
    };

/** What a rail reports about an account number or a bank that it cannot express: nothing was sent. */
export const NOT_SUPPORTED: InquiryOutcome = { kind: 'no_verdict', reason: 'not_supported', railCode: null };

/** For logs and metrics: the account status in capitals, or the reason why there is no verdict. */
export const outcomeLabel = (outcome: InquiryOutcome): string =>
  outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;

export type NoVerdictReason =
  /** No complete reply arrived before the deadline. */
  | 'timeout'
  /** The connection failed. */
  | 'unreachable'
  /** The bank replied that it cannot answer now. */
  | 'bank_unavailable'
  /** The bank asked for fewer inquiries. */
  | 'throttled'
  /** The bank rejected the operator: credentials, signature, contract, or a field of the connection. */
  | 'credentials_rejected'
  /** The bank rejected this one inquiry, because of its format or its account number. It would answer another one. */
  | 'rejected_by_bank'
  /** The reply is malformed, is about another account or transfer, or has an unknown meaning. */
  | 'invalid_response'
  /** The rail cannot express this account number or this bank. The bank would only reject it, so nothing is sent. */
  | 'not_supported'
  /** A rail rejected, which the port forbids: a defect here, no evidence about the bank. Set by the rail's caller. */
  | 'internal_error'
  /** No rail leads to the bank. A retry does not help. Set by the code that chooses rails, never by a rail. */
  | 'no_rail'
  /** The operator has paused the service: nothing is sent. Set instead of any inquiry. */
  | 'paused'
  | NotSentReason;

/** The inquiry was not sent; a later one may be. Set by the code that protects the bank, never by a rail. */
const NOT_SENT_REASONS = [
  /** The bank failed too often: its circuit breaker is open. */
  'circuit_open',
  /** The maximum number of inquiries is in flight. */
  'bulkhead_full',
  /** The contract allows no more inquiries now. */
  'quota_exhausted',
] as const;
export type NotSentReason = (typeof NOT_SENT_REASONS)[number];

export const isNotSent = (reason: NoVerdictReason): reason is NotSentReason =>
  (NOT_SENT_REASONS as readonly string[]).includes(reason);

export interface StatusInquiry {
  /** The transfer's reference on the rail. */
  readonly reference: string;
  /** Exact, with two decimal places, such as `150000.00`. */
  readonly amount: string;
  /** ISO 4217. */
  readonly currency: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  /** The recipient's bank; null when it is not in the directory. */
  readonly bank: Bank | null;
  /** The recipient's account. */
  readonly accountNumber: AccountNumber;
  /** The SNAP service that ordered it, as the core says: see `TRANSFER_SERVICE_CODES`. null where it does not. */
  readonly serviceCode: string | null;
}

/** The result of a status inquiry. Only `status` can change a transaction. `railCode` is for the operator. */
export type StatusInquiryOutcome =
  | {
      readonly kind: 'status';
      readonly status: Status;
      /** With FAILED only. */
      readonly failureReason?: FailureReason;
      /** ISO 8601 UTC. */
      readonly processedAt?: string;
      /** The bank returned the money: FAILED, or a reversal where SUCCESS is known already. */
      readonly reversed?: boolean;
      readonly railCode: string;
    }
  /** The bank does not know the transfer, yet or any more. That is not a failure: the money may be on its way. */
  | { readonly kind: 'unknown_transfer'; readonly railCode: string }
  | { readonly kind: 'no_status'; readonly reason: NoVerdictReason; readonly railCode: string | null };

/** The port to a bank system. Its results use the domain's vocabulary; the protocol's terms stay inside the rail. */
export interface Rail {
  /** As the operator named it. */
  readonly name: string;
  /** True when NOT_FOUND always means that there is no such account. Absent or false: the account may be closed. */
  readonly distinguishesClosed?: boolean;
  /**
   * How long after the order the bank expects the first status inquiry about a transfer, in milliseconds. None is made
   * before, not for a reader either. Absent: it may be asked at any time.
   */
  readonly firstStatusInquiryMs?: number;
  reaches(bank: Bank): boolean;
  /** Whether the protocol can carry this account number. Absent: it carries any. An unsupported one is not sent. */
  supportsAccountNumber?(inquiry: AccountInquiry): boolean;
  /** Never rejects. When `signal` fires, the result is no longer needed. */
  inquireAccount(inquiry: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome>;
  /** Absent where the rail has no status inquiry. Never rejects. */
  inquireStatus?(inquiry: StatusInquiry, signal: AbortSignal): Promise<StatusInquiryOutcome>;
  close(): Promise<void>;
}
