import { type NoAnswer, noAnswerAfter, reasonForStatus } from '../no-answer.ts';
import { NoToken } from './access-token.ts';

/** What an exchange that failed comes to; without a token nothing could be asked. */
export function noSnapAnswerAfter(error: unknown, signal: AbortSignal): NoAnswer {
  if (!(error instanceof NoToken)) return noAnswerAfter(error, signal);
  const reason = reasonForStatus(error.status);
  // What a bank finds fault with here is the operator's: the question was not in it.
  return { reason: reason === 'question_refused' ? 'refused' : reason, railCode: error.railCode };
}
