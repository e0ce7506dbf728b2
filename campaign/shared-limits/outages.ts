import { setTimeout as wait } from 'node:timers/promises';
import { eventually } from '../../test/support/eventually.ts';
import { type RowResult, unless } from '../load/table.ts';
import type { PartOptions } from '../part.ts';
import { admittedOf, type Exchange, mostInWindow, sendAll, sendCount, statusCheck } from './requests.ts';
import type { Processes, SharedSetting } from './setting.ts';

export interface Outage {
  readonly name: string;
  begin(setting: SharedSetting): unknown;
  end(setting: SharedSetting): unknown;
}

/** Of Valkey itself. */
export const OUTAGES: readonly Outage[] = [
  { name: 'frozen', begin: ({ valkey }) => valkey.freeze(), end: ({ valkey }) => valkey.thaw() },
  { name: 'killed', begin: ({ valkey }) => valkey.kill(), end: ({ valkey }) => valkey.restart() },
  { name: 'emptied', begin: ({ valkey }) => valkey.command('FLUSHALL'), end: () => {} },
  {
    name: 'out of memory',
    begin: ({ valkey }) => valkey.command('CONFIG', 'SET', 'maxmemory', '1'),
    end: ({ valkey }) => valkey.command('CONFIG', 'SET', 'maxmemory', '0'),
  },
];

/** Of the network. */
export const PARTITION: Outage = {
  name: 'partitioned',
  begin: ({ proxy }) => proxy.partition(),
  end: ({ proxy }) => proxy.heal(),
};

const LIMIT = 120;
const WINDOW_MS = 60_000;
const BEFORE_MS = 2_000;
const EXACT_AGAIN_MS = 2_000;
/** The 50 ms of docs/contract.md 8.3, and what a machine that is busy with all processes adds. */
const LATER_MS_MAX = 150;
const OUTAGE_SECONDS_MAX = 5;

/** Valkey fails under the load of clients: no answer is late for it, limits stay bounded, and are exact soon after. */
export async function measureOutage(
  setting: SharedSetting,
  processes: Processes,
  { name, begin, end }: Outage,
  { seconds, signal }: PartOptions,
): Promise<RowResult> {
  const count = processes.all.length;
  const token = await processes.newClient({ 'check-status': LIMIT });
  let isOver = false;
  const load = sendAll(processes, {
    request: statusCheck(token),
    inFlight: 8,
    mayContinue: () => !isOver,
    pause: () => wait(5),
  });
  try {
    await wait(BEFORE_MS, null, { signal });
    const beginMs = performance.now();
    await begin(setting);
    await wait(Math.min(seconds, OUTAGE_SECONDS_MAX) * 1_000, null, { signal });
    await end(setting);
    const endMs = performance.now();
    await eventually('all count together', processes.areExact);
    const backMs = performance.now() - endMs;
    const again = await countAfterwards(processes);
    isOver = true;
    const exchanges = await load;
    const most = mostInWindow(admittedOf(exchanges), WINDOW_MS);
    const bound = LIMIT + count * Math.ceil(LIMIT / count);
    const [before, during] = [slowest(exchanges, 0, beginMs), slowest(exchanges, beginMs, endMs)];
    return {
      figures: [
        `${most} in a minute (at most ${bound})`,
        `slowest answer ${during.toFixed(0)} ms (before ${before.toFixed(0)})`,
        `exact again after ${(backMs / 1_000).toFixed(2)} s, then ${again} of ${LIMIT}`,
        `${exchanges.length} requests`,
      ],
      problems: [
        ...unless(most <= bound, `${name}: ${most} were admitted in a minute`),
        ...unless(during <= before + LATER_MS_MAX, `${name}: an answer took ${Math.round(during)} ms`),
        ...unless(backMs <= EXACT_AGAIN_MS, `${name}: exact again after ${Math.round(backMs)} ms`),
        ...unless(again === LIMIT, `${name}: ${again} of another client were admitted afterwards`),
        ...unless(
          exchanges.every(({ status }) => status === 404 || status === 429),
          `${name}: another answer`,
        ),
      ],
    };
  } finally {
    isOver = true;
    await load;
  }
}

async function countAfterwards(processes: Processes): Promise<number> {
  const token = await processes.newClient({ 'check-status': LIMIT });
  return admittedOf(await sendCount(processes, statusCheck(token), LIMIT * 4)).length;
}

/** In milliseconds, of the requests that were sent in this time. */
const slowest = (exchanges: readonly Exchange[], fromMs: number, untilMs: number): number =>
  exchanges.reduce(
    (most, { sentMs, answeredMs }) =>
      sentMs >= fromMs && sentMs < untilMs ? Math.max(most, answeredMs - sentMs) : most,
    0,
  );
