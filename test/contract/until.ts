import { eventually } from '../support/eventually.ts';
import type { Answer } from '../support/requests.ts';

const DEADLINE_MS = 10_000;

/** Repeats the request until the answer is as expected. @throws Error with the last answer after 10 s */
export async function until(expected: (answer: Answer) => boolean, request: () => Promise<Answer>): Promise<Answer> {
  let answer = await request();
  if (expected(answer)) return answer;
  const repeat = async (): Promise<boolean> => {
    answer = await request();
    return expected(answer);
  };
  await eventually('the expected answer', repeat, DEADLINE_MS).catch((cause: unknown) => {
    throw new Error(`the last answer was ${answer.status} ${answer.text}`, { cause });
  });
  return answer;
}

/** Repeats the request until the answer has this HTTP status. */
export const untilStatus = (status: number, request: () => Promise<Answer>): Promise<Answer> =>
  until((answer) => answer.status === status, request);
