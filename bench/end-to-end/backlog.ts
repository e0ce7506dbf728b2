import { setTimeout as wait } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import { cpuSeconds } from '../cpu-time.ts';
import { atRate } from './at-rate.ts';
import { begunAndEnded } from './feed-lines.ts';
import { type Figures, NO_FIGURES } from './figures.ts';
import type { CallbackSubject } from './subject.ts';

export interface BacklogRound {
  /** How many callbacks are due when it begins. */
  readonly backlog: number;
  readonly changesPerSecond: number;
  readonly seconds: number;
}

/** Until what was held back is answered and the work has its usual pace. */
const SETTLE_SECONDS = 0.2;
const POLL_MS = 50;
const LEFT_MIN = 200;

/** How many callbacks arrive each second while many are due and more keep coming. */
export async function measureBacklog(
  { signal }: BenchContext,
  subject: CallbackSubject,
  { backlog, changesPerSecond, seconds }: BacklogRound,
): Promise<Figures> {
  const { service, feeder, words, receiver } = subject;
  await receiver.hold();
  const missing = Math.max(0, backlog - (subject.owed - (await receiver.count()).count));
  await feeder.tellAll(words.newIds(missing).map(begunAndEnded));
  subject.owed += missing;

  const coming = words.newIds(Math.ceil(changesPerSecond * (SETTLE_SECONDS + seconds)));
  const feeding = atRate(coming, changesPerSecond, signal, (id) => feeder.tell(begunAndEnded(id)));
  // Whoever waits for it hears of its failure.
  feeding.catch(() => {});
  await receiver.release();
  await wait(SETTLE_SECONDS * 1000, undefined, { signal });

  const [before, cpuBefore] = [await receiver.count(), await cpuSeconds(service.pid)];
  let after = before;
  // No longer than there is more due than can be under way.
  while (after.atMs - before.atMs < seconds * 1000 && subject.owed - after.count > LEFT_MIN) {
    await wait(POLL_MS, undefined, { signal });
    after = await receiver.count();
  }
  const cpuAfter = await cpuSeconds(service.pid);
  await receiver.hold();
  subject.owed += (await feeding).items.length;
  await receiver.arrivals();
  const delivered = after.count - before.count;
  return {
    ...NO_FIGURES,
    perSecond: delivered / ((after.atMs - before.atMs) / 1000),
    cpuUs: ((cpuAfter - cpuBefore) / delivered) * 1e6,
  };
}
