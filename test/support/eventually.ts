import { setTimeout as delay } from 'node:timers/promises';
import { timeLimitMs } from './suite-environment.ts';

const DEADLINE_MS = timeLimitMs(15_000);
const PAUSE_MS = 5;

/** Asks again until it is so. @throws Error that names what was waited for in vain. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = DEADLINE_MS,
): Promise<void> {
  const deadlineMs = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() >= deadlineMs) throw new Error(`waited ${withinMs} ms in vain for this: ${what}`);
    await delay(PAUSE_MS);
  }
}
