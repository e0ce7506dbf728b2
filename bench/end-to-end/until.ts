import { setTimeout as wait } from 'node:timers/promises';

const POLL_MS = 100;

/** @throws Error when it has not come to that after `timeoutMs`. */
export async function until(
  what: string,
  timeoutMs: number,
  signal: AbortSignal,
  condition: () => Promise<boolean>,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`it did not come to this within ${timeoutMs} ms: ${what}`);
    await wait(POLL_MS, undefined, { signal });
  }
}
