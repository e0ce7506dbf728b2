import { type NoAnswer, noAnswerAfter, reasonForStatus } from '../no-answer.ts';
import { NoToken } from './access-token.ts';

/** What an exchange that failed comes to; without a token nothing could be asked. */
export const noSnapAnswerAfter = (error: unknown, signal: AbortSignal): NoAnswer =>
  error instanceof NoToken
    ? { reason: reasonForStatus(error.status), railCode: error.railCode }
    : noAnswerAfter(error, signal);
