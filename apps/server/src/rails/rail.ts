import type { AccountNumber, Verdict } from '../domain/account.ts';
import type { Bank } from '../domain/bank.ts';

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
  | { readonly kind: 'verdict'; readonly verdict: Verdict; readonly railCode: string }
  /** The bank could not say. `railCode` is its own word for why, for the log and the operator only. */
  | { readonly kind: 'no_verdict'; readonly reason: NoVerdictReason; readonly railCode: string | null };

export type NoVerdictReason =
  /** Nothing, or not enough, came in time. */
  | 'timeout'
  /** The connection failed. */
  | 'unreachable'
  /** The bank said that it cannot answer now. */
  | 'bank_unavailable'
  /** The bank asks for fewer questions. */
  | 'throttled'
  /** The bank refused the question itself: wrong credentials, signature, contract. */
  | 'refused'
  /** The answer is malformed, names another account, or means nothing known. */
  | 'not_understood';

/** The port: a way to a bank system. What leaves it is the domain's vocabulary; the protocol's words stay inside. */
export interface Rail {
  /** As the operator named it. */
  readonly name: string;
  reaches(bank: Bank): boolean;
  /** Never rejects. `signal` fires when nobody waits for the answer any more. */
  inquireAccount(inquiry: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome>;
  close(): Promise<void>;
}
