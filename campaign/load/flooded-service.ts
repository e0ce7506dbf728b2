import { setTimeout as wait } from 'node:timers/promises';
import { rawRequest } from '../../test/contract/raw-connection.ts';
import type { PartOptions } from '../part.ts';
import { type FloodSettings, floodWhile } from './flood.ts';
import { type Prober, quantileMs, startProber } from './prober.ts';
import { type LoadedService, openLogFile, type Setting, startService } from './setting.ts';
import { residentMib, watchMemory } from './watch.ts';

/** Clients that pipeline requests without a bound. */
export interface Flooding {
  readonly listener: 'public' | 'operator';
  readonly connections: number;
  /** Whether they read the answers. */
  readonly isRead: boolean;
  readonly hasToken: boolean;
}

const NORMAL_WITHIN_MS = 5_000;
const WARM_UP_MS = 3_000;
const PROBE_INTERVAL_MS = 10;
const HEALTH_INTERVAL_MS = 100;
/** The probes that must be as fast as before for the service to be called normal: half a second's. */
const NORMAL_PROBES = 50;
const POLL_MS = 100;

/** How the service and another client fare. */
export interface FloodFigures {
  readonly isAlive: boolean;
  readonly p99Ms: number;
  readonly quietP99Ms: number;
  readonly healthMs: number;
  readonly growthMib: number;
  readonly logMib: number;
  readonly normalMs: number;
  /** What the flooding connections sent. */
  readonly sentMib: number;
  readonly answered: number;
  readonly rejected: number;
}

export async function floodService(
  setting: Setting,
  flooding: Flooding,
  options: PartOptions,
  nodeOptions: readonly string[],
): Promise<FloodFigures> {
  const log = await openLogFile(setting, 'service.log');
  const service = await startService(setting, log.fd, nodeOptions);
  const headers = { authorization: `Bearer ${service.tokens.unlimited}` };
  const { url, operatorUrl, statusPath } = service;
  const prober = startProber({ url, path: statusPath, headers, intervalMs: PROBE_INTERVAL_MS });
  const health = startProber({ url: operatorUrl, path: () => '/livez', headers: {}, intervalMs: HEALTH_INTERVAL_MS });
  try {
    const pid = service.child.pid ?? 0;
    await wait(WARM_UP_MS, null, { signal: options.signal });
    const quiet = prober.since(performance.now() - WARM_UP_MS / 2);
    const residentBefore = (await residentMib(pid)) ?? 0;
    const loggedBefore = await log.bytesExceptOf('unlimited');
    const startMs = performance.now();
    const [peak, report] = await floodWhile(toSettings(flooding, service), () =>
      watchMemory(pid, { ...options, name: describeFlooding(flooding) }),
    );
    const during = prober.since(startMs);
    const healthMs = quantileMs(health.since(startMs), 1);
    const normalMs = await untilNormal(prober, quantileMs(quiet, 0.95), options.signal);
    const answered = during.filter(({ status }) => status === 200).length;
    return {
      isAlive: service.child.exitCode === null && service.child.signalCode === null,
      p99Ms: quantileMs(during, 0.99),
      quietP99Ms: quantileMs(quiet, 0.99),
      healthMs,
      growthMib: peak - residentBefore,
      logMib: ((await log.bytesExceptOf('unlimited')) - loggedBefore) / 1_024 / 1_024,
      normalMs,
      sentMib: report.sent / 1_024 / 1_024,
      answered,
      rejected: during.length - answered,
    };
  } finally {
    await Promise.all([prober.stop(), health.stop()]);
    await service.release();
    await log.close();
  }
}

const toSettings = (flooding: Flooding, { url, operatorUrl, tokens }: LoadedService): FloodSettings => {
  const isPublic = flooding.listener === 'public';
  return {
    port: Number(new URL(isPublic ? url : operatorUrl).port),
    connections: flooding.connections,
    isRead: flooding.isRead,
    request: requestTo(flooding, isPublic ? tokens.limited : tokens.operator),
  };
};

/** A short request, so that many fit into what is read at a time. */
export function requestTo({ listener, hasToken }: Pick<Flooding, 'listener' | 'hasToken'>, token: string): string {
  const withToken = listener === 'public' ? '/api/v1/check-status/TB0000000001' : '/operator/v1/enumeration';
  const without = listener === 'public' ? '/api/v1/banks' : '/livez';
  const headers: Record<string, string> = hasToken ? { authorization: `Bearer ${token}` } : {};
  return rawRequest('GET', hasToken ? withToken : without, { headers }).toString('latin1');
}

/** Resolves with how long it took until another client's requests were about as fast as before. */
async function untilNormal(prober: Prober, quietMs: number, signal: AbortSignal): Promise<number> {
  const limitMs = Math.max(quietMs * 3, 20);
  const startMs = performance.now();
  for (;;) {
    const recent = prober.since(performance.now() - NORMAL_PROBES * PROBE_INTERVAL_MS).slice(-NORMAL_PROBES);
    const isNormal = recent.length >= NORMAL_PROBES * 0.8 && recent.every(({ status }) => status === 200);
    const tookMs = performance.now() - startMs;
    if ((isNormal && quantileMs(recent, 0.95) <= limitMs) || tookMs > NORMAL_WITHIN_MS * 2) return tookMs;
    await wait(POLL_MS, null, { signal });
  }
}

export const describeFlooding = ({ listener, connections, isRead, hasToken }: Flooding): string =>
  `${listener} ${connections} ${isRead ? 'read' : 'unread'}${hasToken ? ' token' : ''}`;
