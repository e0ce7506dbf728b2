import { setTimeout as delay } from 'node:timers/promises';
import { timeLimitMs } from './suite-environment.ts';

const DEADLINE_MS = timeLimitMs(15_000);
/** What is polled takes processor time that other tests need, so a long wait is polled less often. */
const PAUSE_MIN_MS = 5;
const PAUSE_MAX_MS = 25;

/**
 * Polls until the condition is true.
 * @throws Error that names `what` when it is not true within the time
 */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = DEADLINE_MS,
): Promise<void> {
  const startedMs = performance.now();
  while (!(await condition())) {
    const waitedMs = performance.now() - startedMs;
    if (waitedMs >= withinMs) throw new Error(`not true within ${withinMs} ms: ${what}`);
    await delay(Math.min(Math.max(waitedMs / 20, PAUSE_MIN_MS), PAUSE_MAX_MS));
  }
}
