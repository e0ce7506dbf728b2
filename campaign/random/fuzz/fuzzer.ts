import { setTimeout as delay } from 'node:timers/promises';
import { createDraws } from '../draws.ts';
import { judgeAnswer } from '../judge-answer.ts';
import type { RoundContext } from '../round-context.ts';
import { drawRequest } from './operations.ts';
import { exchangeBytes } from './raw-exchange.ts';
import { drawBytes } from './raw-requests.ts';
import { createRandomValues } from './values.ts';

const PAUSE_WHEN_DOWN_MS = 30;

/** Sends random and broken requests until the load ends. What is answered must be right, and nothing may be a 500. */
export async function fuzz(context: RoundContext, number: number, receiverPort: number): Promise<void> {
  const { processes, tokens, record, canaries, loadEnds, seed } = context;
  const draws = createDraws(seed, `fuzzer ${number}`);
  const values = createRandomValues(draws, canaries, receiverPort);
  while (!loadEnds.aborted) {
    const listener = draws.chance(0.7) ? 'public' : 'operator';
    const bytes = drawBytes(draws, values, () => {
      let request = drawRequest(draws, values, tokens);
      while (request.listener !== listener) request = drawRequest(draws, values, tokens);
      return request;
    });
    const process = draws.pick(processes);
    const { answers, refused } = await exchangeBytes(listener === 'public' ? process.url : process.operatorUrl, bytes);
    if (refused) {
      await delay(PAUSE_WHEN_DOWN_MS);
      continue;
    }
    record.count('fuzzed requests', bytes.targets.length);
    record.count('answers to fuzzed requests', answers.length);
    for (const [index, answer] of answers.entries()) {
      const target = bytes.targets[index] ?? null;
      judgeAnswer(answer, `${target ?? 'a broken request'} on the ${listener} listener`, target, context);
    }
  }
}
