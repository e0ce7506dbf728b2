import { NoReply } from './bank-http.ts';
import type { NoVerdictReason } from './rail.ts';

/** Why a question has no answer, in the port's words and in the bank's. */
export interface InquiryFailure {
  readonly reason: NoVerdictReason;
  readonly railCode: string | null;
}

/**
 * What to do about an HTTP status that says nothing of what was asked about. Whatever stands before a bank answers 400, too, when
 * it does not like a certificate: of a single question that says something only where the bank's own words do.
 */
export function reasonForHttpStatus(httpStatus: number): NoVerdictReason {
  if (httpStatus === 429) return 'throttled';
  if (httpStatus === 504) return 'timeout';
  if (httpStatus >= 500 || httpStatus === 202) return 'bank_unavailable';
  return httpStatus >= 400 ? 'credentials_rejected' : 'invalid_response';
}

/** What an exchange that failed comes to. `signal` is the one it was given. */
export function inquiryFailureOf(error: unknown, signal: AbortSignal): InquiryFailure {
  if (error instanceof NoReply) {
    return { reason: error.reason === 'unreadable' ? 'invalid_response' : error.reason, railCode: null };
  }
  return { reason: signal.aborted ? 'timeout' : 'unreachable', railCode: null };
}
