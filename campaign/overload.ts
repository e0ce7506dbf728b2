import { setTimeout as wait } from 'node:timers/promises';
import { rawRequest } from '../test/contract/raw-connection.ts';
import { type Goodput, measureGoodput, otherAnswers, statusChecks } from './load/goodput.ts';
import { type OfferReport, type OfferSettings, startOffer } from './load/offer.ts';
import { feedBody, type LoadedService, openLogFile, type Setting, startService } from './load/setting.ts';
import { partOf, type RowResult, unless } from './load/table.ts';
import { machineLoad, residentMib, watchMemory } from './load/watch.ts';
import type { PartOptions } from './part.ts';

/** What is offered. */
interface Load {
  readonly name: string;
  /** For the peak: each with one request in flight. */
  readonly connections: number;
  readonly usefulMs: number;
  readonly requests: (service: LoadedService) => Pick<OfferSettings, 'port' | 'requests'>;
}

/** docs/contract.md 4.2: a status check is answered within 3 s. */
const STATUS_USEFUL_MS = 3_000;
const FEED_USEFUL_MS = 10_000;
const FEEDS = 200;
const UPDATES_IN_FEED = 10;

const LOADS: readonly Load[] = [
  { name: 'check-status', connections: 50, usefulMs: STATUS_USEFUL_MS, requests: statusChecks },
  { name: 'feed', connections: 10, usefulMs: FEED_USEFUL_MS, requests: feeds },
];

const TIMES_PEAK = 10;
/** In the overload: ten times as many connections, and as many requests in flight on each. */
const IN_FLIGHT = 10;
const GOODPUT_SHARE_MIN = 0.8;
const STOPPED_WITHIN_MS = 10_000;
const GROWTH_MAX_MIB = 150;
const WARM_UP_MS = 3_000;
/** Of the time, for the peak. */
const PEAK_SHARE = 4;
/** Of the overload that counts for nothing: the service learns that it is overloaded. */
const SETTLING_MS = 1_000;

async function measure(setting: Setting, load: Load, options: PartOptions): Promise<RowResult> {
  const log = await openLogFile(setting, 'service.log');
  const service = await startService(setting, log.fd);
  try {
    const peak = await measurePeak(service, load, options);
    return judge(peak, await overloadAndStop(service, load, peak, options));
  } finally {
    await service.release();
    await log.close();
  }
}

function judge(peak: Goodput, over: Overload): RowResult {
  const { report, growthMib, exitCode, stoppedMs } = over;
  const share = over.perSecond / peak.perSecond;
  const others = otherAnswers(report);
  return {
    figures: [
      `peak ${Math.round(peak.perSecond)}/s`,
      `goodput ${Math.round(over.perSecond)}/s = ${percent(share)}`,
      `cpu ${Math.round(peak.cpuUs)} -> ${Math.round(over.cpuUs)} us`,
      `offered ${report.offered}: ${report.good} in time, ${report.late} late, ${report.rejected} rejected`,
      `rss +${growthMib.toFixed(0)} MiB`,
      `SIGTERM exit ${exitCode} in ${(stoppedMs / 1_000).toFixed(1)} s`,
      machineLoad(),
    ],
    problems: [
      ...unless(share >= GOODPUT_SHARE_MIN, `goodput fell to ${percent(share)} of the peak`),
      ...unless(exitCode === 0, `SIGTERM ended it with ${exitCode}`),
      ...unless(stoppedMs <= STOPPED_WITHIN_MS, `SIGTERM took ${Math.round(stoppedMs)} ms`),
      ...unless(growthMib <= GROWTH_MAX_MIB, `memory grew by ${Math.round(growthMib)} MiB`),
      ...unless(others === '', `answers that are neither 200 nor 503: ${others}`),
    ],
  };
}

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

/** When each connection waits for its answers. */
async function measurePeak(service: LoadedService, load: Load, { seconds, signal }: PartOptions): Promise<Goodput> {
  const { connections, usefulMs } = load;
  const offer = startOffer({ connections, usefulMs, inFlightMax: 1, ...load.requests(service) });
  try {
    await wait(WARM_UP_MS, null, { signal });
    return await measureGoodput(service, offer, () =>
      wait(Math.max(seconds / PEAK_SHARE, 2) * 1_000, null, { signal }),
    );
  } finally {
    await offer.stop();
  }
}

interface Overload extends Goodput {
  readonly growthMib: number;
  readonly report: OfferReport;
  readonly exitCode: number | string | null;
  readonly stoppedMs: number;
}

async function overloadAndStop(
  service: LoadedService,
  load: Load,
  { perSecond: peak }: Goodput,
  options: PartOptions,
): Promise<Overload> {
  const pid = service.child.pid ?? 0;
  const before = (await residentMib(pid)) ?? 0;
  const { usefulMs } = load;
  const connections = load.connections * TIMES_PEAK;
  const offer = startOffer({ connections, usefulMs, inFlightMax: IN_FLIGHT, ...load.requests(service) });
  try {
    offer.setRate(peak * TIMES_PEAK);
    await wait(SETTLING_MS, null, { signal: options.signal });
    let most = 0;
    const goodput = await measureGoodput(service, offer, async () => {
      most = await watchMemory(pid, { ...options, name: load.name });
    });
    const report = await offer.report();
    // The load goes on.
    const { code, tookMs } = await service.terminate();
    return { ...goodput, growthMib: most - before, report, exitCode: code, stoppedMs: tookMs };
  } finally {
    await offer.stop();
  }
}

function feeds({ operatorUrl, tokens }: LoadedService): Pick<OfferSettings, 'port' | 'requests'> {
  const headers = { authorization: `Bearer ${tokens.core}`, 'content-type': 'application/json' };
  const requests = Array.from({ length: FEEDS }, (_, index) =>
    rawRequest('POST', '/feed/v1/transactions', {
      headers,
      body: feedBody(index * UPDATES_IN_FEED, UPDATES_IN_FEED),
    }).toString('latin1'),
  );
  return { port: Number(new URL(operatorUrl).port), requests };
}

/** Ten times the load that the service can answer, and SIGTERM at its height. */
export const overload = partOf(
  LOADS.map((load) => ({ name: load.name, run: (setting, options) => measure(setting, load, options) })),
);
