import type { CheckLog } from '../account-checks/enumeration/replica.ts';
import type { Log } from '../observability/log.ts';
import type { ProcessRegistry } from '../postgres/process-registry.ts';
import { SHARED_SECOND_MS, type SharedQuotaDependencies } from '../rails/resilience/shared-quota.ts';
import { type ConcurrencyLimiter, createConcurrencyLimiter } from '../rate-limit/concurrency-limiter.ts';
import { type Limiter, WINDOW_MS } from '../rate-limit/limiter.ts';
import { createSlidingWindow } from '../rate-limit/sliding-window.ts';
import type { SharedPlace } from '../valkey/place.ts';
import { createSharedCache, type SharedCache } from '../valkey/shared-cache.ts';
import { createSharedConcurrencyLimiter } from '../valkey/shared-concurrency.ts';
import { createSharedCounter } from '../valkey/shared-counter.ts';
import { createSharedLimiter } from '../valkey/shared-limiter.ts';
import { createSharedLog } from '../valkey/shared-log.ts';
import { openSharedWindows, type SharedWindows } from '../valkey/shared-windows.ts';
import type { AppContext } from './app-context.ts';
import type { PostgresServices } from './postgres.ts';

/** What is counted over all processes (docs/contract.md 8.3). */
export interface SharedLimits {
  /** Each name is a limiter of its own: the same name counts together in all processes. */
  createLimiter(name: string, windowMs?: number): Limiter;
  /** As `createLimiter`, for what a client has open at the same time. */
  createConcurrencyLimiter(name: string): ConcurrencyLimiter;
  /** Counts the quotas of rails; null without a shared place. */
  readonly quota: SharedQuotaDependencies | null;
  /** What all processes report to the enumeration guard; null without a shared place. */
  readonly checkLog: CheckLog | null;
  /** Holds verdicts, sealed; null without a shared place. */
  readonly cache: SharedCache | null;
  /** What is not exact now, for the operator; null when everything is. */
  inexactness(): string | null;
}

const WITHOUT_VALKEY =
  'several processes without TIBA_VALKEY_URL: each one grants the whole of every limit and quota by itself';
const SEVERAL_PARENTS =
  'several machines without TIBA_VALKEY_URL: each one grants the whole of every limit and quota by itself';
/** A day's counter is kept over the change of day in every clock. */
const DAY_COUNTER_MS = 48 * 60 * 60 * 1000;
/** A process that starts waits this long for Valkey, so that its first requests are counted with those of others. */
const START_WAIT_MS = 1_000;

export async function openSharedLimits(
  context: AppContext,
  { processes }: Pick<PostgresServices, 'processes'>,
): Promise<SharedLimits> {
  const { options, metrics } = context;
  const { limitClock: clock = () => performance.now() } = options;
  const { log } = options.logging;
  const { liveProcesses, runningProcesses } = processes;
  const place = await placeOf(context);
  if (options.settings.valkeyUrl === null) metrics.valkeyUp.remove();
  if (place === null) {
    reportInexactness(processes, log);
    return {
      createLimiter: (_name, windowMs) => createSlidingWindow(clock, windowMs),
      createConcurrencyLimiter: () => createConcurrencyLimiter(),
      quota: null,
      checkLog: null,
      cache: null,
      inexactness: () => (runningProcesses() > 1 ? WITHOUT_VALKEY : null),
    };
  }
  const windows = await connect(context, place);
  const decidedAlone = (limiter: string) => () => metrics.limitDecisionsAlone.inc({ limiter });
  const createLimiter = (name: string, windowMs = WINDOW_MS): Limiter =>
    createSharedLimiter({ windows, name, liveProcesses, onDecidedAlone: decidedAlone(name), windowMs, clock });
  return {
    createLimiter,
    createConcurrencyLimiter: (name) =>
      createSharedConcurrencyLimiter({
        windows,
        name,
        processId: processes.processId,
        liveProcesses,
        onDecidedAlone: decidedAlone(name),
      }),
    quota: {
      second: createLimiter('quota-second', SHARED_SECOND_MS),
      day: createSharedCounter({
        windows,
        name: 'quota-day',
        liveProcesses,
        onDecidedAlone: decidedAlone('quota-day'),
        lifetimeMs: DAY_COUNTER_MS,
      }),
      liveProcesses,
      clock,
    },
    checkLog: createSharedLog(windows, 'account-checks', DAY_COUNTER_MS),
    cache: createSharedCache(windows, 'verdicts'),
    inexactness: () => (windows.isPresent() ? place.inexactness(runningProcesses()) : place.awayText),
  };
}

/** At start and whenever it changes, where there is no shared place. */
function reportInexactness({ runningProcesses, onHeartbeat }: ProcessRegistry, log: Log): void {
  let isExact = true;
  function report(): void {
    const wasExact = isExact;
    const processes = runningProcesses();
    isExact = processes === 1;
    if (wasExact && !isExact) log.warn({ processes }, 'limits are not exact: set TIBA_VALKEY_URL');
    if (isExact && !wasExact) log.info('limits are exact again: this is the only process');
  }
  report();
  onHeartbeat(report);
}

/** Where several processes count. */
interface Place extends SharedPlace {
  readonly awayText: string;
  /** What is not exact although the place is there. */
  readonly inexactness: (runningProcesses: number) => string | null;
  /** Null: it is away, for this reason. */
  readonly onChange: (away: string | null) => void;
}

/** Valkey, if it is set, or else the parent of this process; null where there is neither. */
async function placeOf({ options, metrics }: AppContext): Promise<Place | null> {
  const { log } = options.logging;
  const { settings, parent } = options;
  const { valkeyUrl: url, valkeyCluster: cluster } = settings;
  if (url !== null) {
    metrics.valkeyUp.set(0);
    // Its client is loaded only where it is used.
    const { atValkey } = await import('../valkey/connection.ts');
    return {
      ...atValkey({ url, cluster }),
      awayText: 'Valkey is away: each process grants its share of every limit by itself',
      inexactness: () => null,
      onChange(away) {
        metrics.valkeyUp.set(away === null ? 1 : 0);
        if (away === null) log.info('valkey is connected: limits are counted over all processes');
        else log.warn({ reason: away }, "valkey is away: deciding with this process's share of each limit; will retry");
      },
    };
  }
  if (parent === undefined) return null;
  return {
    cluster: false,
    open: parent.openLimits,
    awayText: 'the parent process does not answer: each process grants its share of every limit by itself',
    inexactness: (runningProcesses) => (runningProcesses > parent.liveProcesses() ? SEVERAL_PARENTS : null),
    onChange(away) {
      if (away === null) log.info('limits are counted over all processes of this machine');
      else
        log.warn(
          { reason: away },
          "parent process does not answer: deciding with this process's share of each limit; will retry",
        );
    },
  };
}

async function connect({ options, onClose }: AppContext, place: Place): Promise<SharedWindows> {
  const present = Promise.withResolvers<void>();
  const windows = openSharedWindows({
    open: place.open,
    cluster: place.cluster,
    ...(options.valkeyTimeoutMs === undefined ? {} : { timeoutMs: options.valkeyTimeoutMs }),
    onChange(away) {
      place.onChange(away);
      if (away === null) present.resolve();
    },
  });
  onClose('shared limits', async () => windows.close());
  const timeout = setTimeout(present.resolve, START_WAIT_MS);
  await present.promise;
  clearTimeout(timeout);
  if (!windows.isPresent()) place.onChange('it does not answer');
  return windows;
}
