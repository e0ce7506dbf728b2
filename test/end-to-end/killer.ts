import { setTimeout as delay } from 'node:timers/promises';
import type { KillableService } from './killable-service.ts';

export interface KillerDependencies {
  readonly service: KillableService;
  readonly kills: number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly onKilled: () => void;
  /** Nobody needs it any more. */
  readonly signal: AbortSignal;
}

/** How many are killed so soon after they were begun that they may not have started yet. */
const KILLED_WHILE_STARTING = 0.3;
const STARTING_MAX_MS = 600;
/** Most lives are short, some last for seconds. */
const lifeMs = (random: number): number => 3_000 * random ** 3;

/** Kills the running service again and again, and leaves it running. How many starts were cut short. */
export async function killRepeatedly({
  service,
  kills,
  random,
  onKilled,
  signal,
}: KillerDependencies): Promise<number> {
  let starting = Promise.resolve(true);
  let cutShort = 0;
  for (let count = 0; count < kills; count += 1) {
    signal.throwIfAborted();
    if (random() < KILLED_WHILE_STARTING) {
      await delay(random() * STARTING_MAX_MS);
    } else {
      await starting;
      await delay(lifeMs(random()));
    }
    await service.kill();
    if (!(await starting)) cutShort += 1;
    onKilled();
    starting = service.start();
  }
  await starting;
  return cutShort;
}
