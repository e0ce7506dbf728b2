import { setTimeout as delay } from 'node:timers/promises';
import { timeLimitMs } from './suite-environment.ts';

const DEADLINE_MS = timeLimitMs(15_000);
const PAUSE_MS = 5;

/**
 * Polls until the condition is true.
 * @throws Error that names `what` when it is not true within the time
 */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = DEADLINE_MS,
): Promise<void> {
  const deadlineMs = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() >= deadlineMs) throw new Error(`not true within ${withinMs} ms: ${what}`);
    await delay(PAUSE_MS);
  }
}
