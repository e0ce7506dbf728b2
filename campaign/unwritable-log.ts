import { closeSync, openSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { eventually } from '../test/support/eventually.ts';
import { type Goodput, measureGoodput, otherAnswers, statusChecks } from './load/goodput.ts';
import { type OfferReport, startOffer } from './load/offer.ts';
import { openLogFile, type Setting, startService } from './load/setting.ts';
import { partOf, type RowResult, unless } from './load/table.ts';
import { machineLoad, residentMib, watchMemory } from './load/watch.ts';
import type { PartOptions } from './part.ts';

/** What standard output is. The first is written, for comparison. */
const OUTPUTS = ['file', 'full disk', 'pipe not read', 'pipe closed'] as const;
type Output = (typeof OUTPUTS)[number];

const FULL_DISK = '/dev/full';
const CONNECTIONS = 16;
const USEFUL_MS = 3_000;
const WARM_UP_MS = 2_000;
const GROWTH_MAX_MIB = 150;
const DROPPED_WITHIN_MS = 60_000;
const STOPPED_WITHIN_MS = 10_000;
const DROPPED = 'tiba_log_lines_dropped_total';

interface Result extends Goodput {
  readonly report: OfferReport;
  readonly growthMib: number;
  readonly droppedLines: number;
  readonly exitCode: number | string | null;
  readonly stoppedMs: number;
}

async function measure(setting: Setting, output: Output, options: PartOptions): Promise<Result> {
  const log = await openLogFile(setting, 'service.log');
  // @throws ENOENT where the system has no such device
  const full = openSync(FULL_DISK, 'w');
  const stdout = output === 'file' ? log.fd : output === 'full disk' ? full : 'pipe';
  const service = await startService(setting, stdout);
  if (output === 'pipe closed') service.child.stdout?.destroy();
  const load = { connections: CONNECTIONS, usefulMs: USEFUL_MS, inFlightMax: 1, ...statusChecks(service) };
  const offer = startOffer(load);
  try {
    await wait(WARM_UP_MS, null, { signal: options.signal });
    const pid = service.child.pid ?? 0;
    const before = (await residentMib(pid)) ?? 0;
    let most = 0;
    const goodput = await measureGoodput(service, offer, async () => {
      most = await watchMemory(pid, { ...options, name: output });
    });
    // In a short run, all lines may still be waiting.
    const hasDropped = async (): Promise<boolean> => output === 'file' || (await service.metric(DROPPED)) > 0;
    await eventually('lines are dropped', hasDropped, DROPPED_WITHIN_MS).catch(() => {});
    const report = await offer.report();
    const droppedLines = await service.metric(DROPPED);
    // The load goes on.
    const { code, tookMs } = await service.terminate();
    return { ...goodput, report, growthMib: most - before, droppedLines, exitCode: code, stoppedMs: tookMs };
  } finally {
    await offer.stop();
    await service.release();
    closeSync(full);
    await log.close();
  }
}

function judge(output: Output, result: Result): RowResult {
  const { report, growthMib, droppedLines, exitCode, stoppedMs } = result;
  const others = otherAnswers(report);
  const failed = report.failed + report.rejected + report.late;
  return {
    figures: [
      `${Math.round(result.perSecond)}/s`,
      `cpu ${Math.round(result.cpuUs)} us`,
      `${report.good} answered, ${failed} failed`,
      `rss +${growthMib.toFixed(0)} MiB`,
      `dropped ${droppedLines} lines`,
      `SIGTERM exit ${exitCode} in ${(stoppedMs / 1_000).toFixed(1)} s`,
      machineLoad(),
    ],
    problems: [
      ...unless(failed === 0 && others === '', `${failed} requests failed ${others}`),
      ...unless(growthMib <= GROWTH_MAX_MIB, `memory grew by ${Math.round(growthMib)} MiB`),
      ...unless(droppedLines > 0 !== (output === 'file'), `${droppedLines} lines were dropped`),
      ...unless(exitCode === 0, `SIGTERM ended it with ${exitCode}`),
      ...unless(stoppedMs <= STOPPED_WITHIN_MS, `SIGTERM took ${Math.round(stoppedMs)} ms`),
    ],
  };
}

/** A log that cannot be written, under load. */
export const unwritableLog = partOf(
  OUTPUTS.map((output) => ({
    name: output,
    run: async (setting, options) => judge(output, await measure(setting, output, options)),
  })),
);
