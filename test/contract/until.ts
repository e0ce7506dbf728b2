import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../support/service.ts';

const DEADLINE_MS = 10_000;
const PAUSE_MS = 10;

/** Repeats the request until the answer is as expected. After 10 s, returns the last answer. */
export async function until(expected: (answer: Answer) => boolean, request: () => Promise<Answer>): Promise<Answer> {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  for (;;) {
    const answer = await request();
    if (expected(answer) || deadline.aborted) return answer;
    await delay(PAUSE_MS);
  }
}

/** Repeats the request until the answer has this HTTP status. */
export const untilStatus = (status: number, request: () => Promise<Answer>): Promise<Answer> =>
  until((answer) => answer.status === status, request);
