import type { BenchContext } from '../bench-context.ts';
import { cpuSeconds } from '../cpu-time.ts';
import { atRate } from './at-rate.ts';
import { begun, ended } from './feed-lines.ts';
import { type Figures, latencies, percentiles } from './figures.ts';
import { commitTimes } from './postgres.ts';
import type { CallbackSubject } from './subject.ts';
import { until } from './until.ts';

export interface Rate {
  readonly perSecond: number;
  readonly seconds: number;
}

const ARRIVED_TIMEOUT_MS = 15_000;

/** From the commit of each change to its callback at the receiver, while changes come at this rate. */
export async function measureNotices(
  { signal }: BenchContext,
  subject: CallbackSubject,
  { perSecond, seconds }: Rate,
): Promise<Figures> {
  const { service, connectionString, feeder, words, receiver } = subject;
  const ids = words.newIds(perSecond * seconds);
  await feeder.tellAll(ids.map(begun));
  const { count: countBefore } = await receiver.count();
  await receiver.arrivals();

  const cpuBefore = await cpuSeconds(service.pid);
  const told = await atRate(ids, perSecond, signal, (id) => feeder.tell(ended(id)));
  const count = told.items.length;
  subject.owed += count;
  await until('every change has arrived', ARRIVED_TIMEOUT_MS, signal, async () => {
    return (await receiver.count()).count >= countBefore + count;
  });
  const cpuUsed = (await cpuSeconds(service.pid)) - cpuBefore;

  const took = latencies(await eventTimes(connectionString, told.items), await receiver.arrivals());
  return { perSecond: told.perSecond, ...percentiles(took), cpuUs: (cpuUsed / count) * 1e6 };
}

/** When the last event of each transaction was committed, by its webhook-id. */
const eventTimes = (connectionString: string, ids: readonly string[]): Promise<Map<string, number>> =>
  commitTimes(
    connectionString,
    `select 'evt_' || subject_id || '_' || version as id, xmin as written_by from tiba.events
      where subject_id = any ($1)`,
    ids,
  );
