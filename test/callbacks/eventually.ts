import { setTimeout as delay } from 'node:timers/promises';

const DEADLINE_MS = 15_000;
const PAUSE_MS = 5;

/** Asks again until it is so. @throws Error that names what was waited for. */
export async function eventually(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  while (!(await isSo())) {
    if (deadline.aborted) throw new Error(`waited in vain for ${what}`);
    await delay(PAUSE_MS);
  }
}
