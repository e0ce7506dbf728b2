import { setTimeout as wait } from 'node:timers/promises';
import { VALKEY_MISSING } from '../test/support/valkey.ts';
import { type RowResult, unless } from './load/table.ts';
import { machineLoad } from './load/watch.ts';
import type { Part, PartOptions } from './part.ts';
import { measureExact } from './shared-limits/exact.ts';
import { measureOutage, OUTAGES, PARTITION } from './shared-limits/outages.ts';
import { admittedOf, mostInWindow, sendAll, statusCheck } from './shared-limits/requests.ts';
import { openSharedSetting, type Processes, type SharedSetting } from './shared-limits/setting.ts';

const COUNTS = [1, 2, 4, 8];
const PROCESSES = 4;
const LIMIT = 120;
const WINDOW_MS = 60_000;

/** One client sends more than its limit all the time: no window of a minute holds more. */
async function measureSteady(processes: Processes, { seconds, signal }: PartOptions): Promise<RowResult> {
  const token = await processes.newClient({ 'check-status': LIMIT });
  const endMs = performance.now() + seconds * 1_000;
  const exchanges = await sendAll(processes, {
    request: statusCheck(token),
    inFlight: 4,
    mayContinue: () => performance.now() < endMs && !signal.aborted,
    pause: () => wait(20),
  });
  const admitted = admittedOf(exchanges);
  const most = mostInWindow(admitted, WINDOW_MS);
  const least = LIMIT * (1 + Math.floor((seconds * 1_000) / (WINDOW_MS + 1_000)));
  return {
    figures: [`${most} in a minute, ${admitted.length} of ${exchanges.length} in ${seconds} s`],
    problems: [
      ...unless(most <= LIMIT, `${most} were admitted in a minute`),
      ...unless(admitted.length >= least, `only ${admitted.length} were admitted`),
    ],
  };
}

/** Limits that several processes share through Valkey: exact at full speed, and bounded while Valkey is away. */
export const sharedLimits: Part = async (options) => {
  if (VALKEY_MISSING !== false) throw new Error(VALKEY_MISSING);
  const problems: string[] = [];
  const figures: Record<string, string> = {};
  await using closers = new AsyncDisposableStack();
  const setting = await openSharedSetting(closers);
  const add = async (name: string, run: () => Promise<RowResult>): Promise<void> => {
    if (options.signal.aborted) return;
    const result = await run();
    figures[name] = [...result.figures, machineLoad()].join(', ');
    options.print(`${name}: ${figures[name]}`);
    problems.push(...result.problems.map((problem) => `${name}: ${problem}`));
  };
  try {
    for (const count of COUNTS) await add(`processes: ${count}`, () => measureExact(setting, count, options));
    await measureTogether(setting, options, add);
  } catch (error) {
    if (!options.signal.aborted) throw error;
  }
  return { findings: problems.map((what) => ({ what, seed: options.seed })), figures };
};

async function measureTogether(
  setting: SharedSetting,
  options: PartOptions,
  add: (name: string, run: () => Promise<RowResult>) => Promise<void>,
): Promise<void> {
  const processes = await setting.start(PROCESSES);
  await add(`steady, processes: ${PROCESSES}`, () => measureSteady(processes, options));
  for (const outage of OUTAGES)
    await add(`valkey ${outage.name}`, () => measureOutage(setting, processes, outage, options));
  await processes.release();
  const proxied = await setting.start(PROCESSES, true);
  await add(`valkey ${PARTITION.name}`, () => measureOutage(setting, proxied, PARTITION, options));
  await proxied.release();
}
