import { type InquiryFailure, inquiryFailureOf, reasonForHttpStatus } from '../http-failure.ts';
import type { NoVerdictReason } from '../rail.ts';
import { NoAccessToken } from './access-token.ts';

/** What an exchange that failed comes to; without a token nothing could be asked. */
export function snapInquiryFailureOf(error: unknown, signal: AbortSignal): InquiryFailure {
  if (!(error instanceof NoAccessToken)) return inquiryFailureOf(error, signal);
  return { reason: reasonForHttpStatus(error.status), railCode: error.railCode };
}

/** What the status in a response code says, which only a bank that has read the question sends. */
export const reasonForResponseCode = (httpStatus: number): NoVerdictReason =>
  httpStatus === 400 ? 'rejected_by_bank' : reasonForHttpStatus(httpStatus);
