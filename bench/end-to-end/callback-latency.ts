import type { BenchContext } from '../bench-context.ts';
import { cpuSeconds } from '../process-stats.ts';
import { createdUpdate, successUpdate } from './feed-updates.ts';
import { type Figures, latencies, percentiles } from './figures.ts';
import { commitTimes } from './postgres.ts';
import type { CallbackServiceUnderTest } from './service-under-test.ts';
import { atRate, until } from './timing.ts';

export interface Rate {
  readonly perSecond: number;
  readonly seconds: number;
}

const ARRIVAL_TIMEOUT_MS = 15_000;

/** Measures the time from the commit of each change to its callback at the receiver, at this rate of changes. */
export async function measureCallbackLatency(
  { signal }: BenchContext,
  serviceUnderTest: CallbackServiceUnderTest,
  { perSecond, seconds }: Rate,
): Promise<Figures> {
  const { service, connectionString, feeder, transactionIds, receiver } = serviceUnderTest;
  const ids = transactionIds.next(perSecond * seconds);
  await feeder.feedAll(ids.map(createdUpdate));
  const { count: countBefore } = await receiver.count();
  await receiver.takeArrivals();

  const cpuBefore = await cpuSeconds(service.pid);
  const fed = await atRate(ids, perSecond, signal, (id) => feeder.feed(successUpdate(id)));
  const count = fed.items.length;
  serviceUnderTest.expectedCallbacks += count;
  await until('every callback has arrived', ARRIVAL_TIMEOUT_MS, signal, async () => {
    return (await receiver.count()).count >= countBefore + count;
  });
  const cpuUsed = (await cpuSeconds(service.pid)) - cpuBefore;

  const latenciesMs = latencies(await eventTimes(connectionString, fed.items), await receiver.takeArrivals());
  return { perSecond: fed.perSecond, ...percentiles(latenciesMs), cpuUs: (cpuUsed / count) * 1e6 };
}

/** When the events of each transaction were committed, by webhook-id. */
const eventTimes = (connectionString: string, ids: readonly string[]): Promise<Map<string, number>> =>
  commitTimes(
    connectionString,
    `select 'evt_' || subject_id || '_' || version as id, xmin as written_by from tiba.events
      where subject_id = any ($1)`,
    ids,
  );
