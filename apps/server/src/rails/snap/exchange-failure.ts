import { type NoAnswer, noAnswerAfter, reasonForStatus } from '../http-failure.ts';
import type { NoVerdictReason } from '../rail.ts';
import { NoToken } from './access-token.ts';

/** What an exchange that failed comes to; without a token nothing could be asked. */
export function noSnapAnswerAfter(error: unknown, signal: AbortSignal): NoAnswer {
  if (!(error instanceof NoToken)) return noAnswerAfter(error, signal);
  return { reason: reasonForStatus(error.status), railCode: error.railCode };
}

/** What the status in a response code says, which only a bank that has read the question sends. */
export const reasonForCode = (httpStatus: number): NoVerdictReason =>
  httpStatus === 400 ? 'rejected_by_bank' : reasonForStatus(httpStatus);
