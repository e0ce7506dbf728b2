import { setTimeout as wait } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import { cpuSeconds } from '../process-stats.ts';
import { createdSuccessUpdate } from './feed-updates.ts';
import { type Figures, NO_FIGURES } from './figures.ts';
import type { CallbackServiceUnderTest } from './service-under-test.ts';
import { atRate } from './timing.ts';

export interface BacklogRound {
  /** How many callbacks are due when the round begins. */
  readonly backlog: number;
  readonly changesPerSecond: number;
  readonly seconds: number;
}

/** Until the paused requests are answered and deliveries have reached their usual pace. */
const SETTLE_SECONDS = 0.2;
const POLL_MS = 50;
const REMAINING_MIN = 200;

/** Measures how many callbacks arrive per second while a backlog is due and changes continue. */
export async function measureBacklog(
  { signal }: BenchContext,
  serviceUnderTest: CallbackServiceUnderTest,
  { backlog, changesPerSecond, seconds }: BacklogRound,
): Promise<Figures> {
  const { service, feeder, transactionIds, receiver } = serviceUnderTest;
  await receiver.pause();
  const due = serviceUnderTest.expectedCallbacks - (await receiver.count()).count;
  const missing = Math.max(0, backlog - due);
  await feeder.feedAll(transactionIds.next(missing).map(createdSuccessUpdate));
  serviceUnderTest.expectedCallbacks += missing;

  const ids = transactionIds.next(Math.ceil(changesPerSecond * (SETTLE_SECONDS + seconds)));
  const feeding = atRate(ids, changesPerSecond, signal, (id) => feeder.feed(createdSuccessUpdate(id)));
  // A failure is reported below, where the result is awaited.
  feeding.catch(() => {});
  await receiver.resume();
  await wait(SETTLE_SECONDS * 1000, undefined, { signal });

  const [before, cpuBefore] = [await receiver.count(), await cpuSeconds(service.pid)];
  let after = before;
  // Only while more callbacks are due than can be in flight.
  while (
    after.atMs - before.atMs < seconds * 1000 &&
    serviceUnderTest.expectedCallbacks - after.count > REMAINING_MIN
  ) {
    await wait(POLL_MS, undefined, { signal });
    after = await receiver.count();
  }
  const cpuAfter = await cpuSeconds(service.pid);
  await receiver.pause();
  serviceUnderTest.expectedCallbacks += (await feeding).items.length;
  await receiver.takeArrivals();
  const delivered = after.count - before.count;
  return {
    ...NO_FIGURES,
    perSecond: delivered / ((after.atMs - before.atMs) / 1000),
    cpuUs: ((cpuAfter - cpuBefore) / delivered) * 1e6,
  };
}
