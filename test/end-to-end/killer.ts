import { setTimeout as delay } from 'node:timers/promises';
import type { KillableService } from './killable-service.ts';

export interface KillerDependencies {
  readonly service: KillableService;
  readonly kills: number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly onKilled: () => void;
  /** Aborted when the test is over. */
  readonly signal: AbortSignal;
}

/** The fraction of processes that are killed so soon after their start that they may not be ready yet. */
const KILLED_WHILE_STARTING = 0.3;
const STARTING_MAX_MS = 600;
/** How long a process lives: mostly short, sometimes seconds. */
const lifeMs = (random: number): number => 3_000 * random ** 3;

/** Kills the service repeatedly, and leaves it running. Returns how many starts were interrupted. */
export async function killRepeatedly({
  service,
  kills,
  random,
  onKilled,
  signal,
}: KillerDependencies): Promise<number> {
  let starting = Promise.resolve(true);
  let interrupted = 0;
  for (let count = 0; count < kills; count += 1) {
    signal.throwIfAborted();
    if (random() < KILLED_WHILE_STARTING) {
      await delay(random() * STARTING_MAX_MS);
    } else {
      await starting;
      await delay(lifeMs(random()));
    }
    await service.kill();
    if (!(await starting)) interrupted += 1;
    onKilled();
    starting = service.start();
  }
  await starting;
  return interrupted;
}
