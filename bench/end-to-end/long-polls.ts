import { setTimeout as wait } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import { startChild } from '../child.ts';
import { cpuSeconds, openFilesMax, residentKib } from '../process-stats.ts';
import type { FinalResponse, LongPollClientsAddress, LongPollClientsSettings } from '../processes/long-poll-clients.ts';
import { commandSender, type SendCommand } from './control.ts';
import { createdUpdate, successUpdate } from './feed-updates.ts';
import { type Figures, latencies, percentiles } from './figures.ts';
import { commitTimes } from './postgres.ts';
import type { ServiceUnderTest } from './service-under-test.ts';
import type { Sizes } from './sizes.ts';
import { atRate, until } from './timing.ts';

export interface LongPollResult {
  readonly figures: Figures;
  readonly kibPerClient: number;
  /** Shares of a core, from 0 to 1, while nothing changes. */
  readonly idleCpu: { readonly withoutClients: number; readonly withClients: number };
  /** The lower limit of the service's and of the clients' process. */
  readonly openFilesMax: number;
}

const WAIT_SECONDS = 30;
/** Files that a process has open in addition to the connections. */
const OTHER_FILES = 200;
const RESPONSE_TIMEOUT_MS = 15_000;
const IDLE_TIMEOUT_MS = 20_000;
const IDLE_WINDOW_MS = 500;
const IDLE_CPU_SHARE = 0.1;

/**
 * Many clients long-poll, each for a transaction of its own. Measures what they cost, and how soon each gets its
 * response after its transaction becomes final.
 */
export async function measureLongPolls(
  context: BenchContext,
  serviceUnderTest: ServiceUnderTest,
  sizes: Sizes,
): Promise<LongPollResult> {
  const { service, feeder, transactionIds } = serviceUnderTest;
  const { send, pid } = await startClients(context, serviceUnderTest);
  const filesMax = Math.min(await openFilesMax(service.pid), await openFilesMax(pid));
  if (filesMax < sizes.longPolls + OTHER_FILES)
    throw new Error(`${sizes.longPolls} connections need more open files than ${filesMax}: raise it with ulimit -n`);

  const rate = { perSecond: sizes.longPollChangesPerSecond, seconds: sizes.longPollSeconds };
  const warmUpIds = transactionIds.next(rate.perSecond * sizes.warmUpSeconds);
  const ids = transactionIds.next(sizes.longPolls);
  await feeder.feedAll([...warmUpIds, ...ids].map(createdUpdate));

  context.logProgress('  warming up …');
  await send('start', warmUpIds);
  await measureResponses(context, serviceUnderTest, send, warmUpIds, rate.perSecond);
  await send('disconnect');
  await untilIdle(context, service.pid);
  const kibBefore = await residentKib(service.pid);
  const withoutClients = await cpuShare(context, service.pid, sizes.idleSeconds);

  context.logProgress(`  connecting ${sizes.longPolls.toLocaleString('en')} clients …`);
  await send('start', ids);
  await untilIdle(context, service.pid);
  const kibAfter = await residentKib(service.pid);
  const withClients = await cpuShare(context, service.pid, sizes.idleSeconds);

  context.logProgress('  their transactions become final …');
  // Spread over all clients, as in production, and not in the order in which they connected.
  const finalIds = everyNth(ids, Math.floor(ids.length / (rate.perSecond * rate.seconds)));
  const figures = await measureResponses(context, serviceUnderTest, send, finalIds, rate.perSecond);
  await send('disconnect');
  return {
    figures,
    kibPerClient: (kibAfter - kibBefore) / sizes.longPolls,
    idleCpu: { withoutClients, withClients },
    openFilesMax: filesMax,
  };
}

async function startClients({ directory, closers, signal }: BenchContext, { service }: ServiceUnderTest) {
  const { publicUrl: url, token } = service.address;
  const settings: LongPollClientsSettings = { url, token, waitSeconds: WAIT_SECONDS };
  const child = await startChild<LongPollClientsAddress>({
    file: 'long-poll-clients.ts',
    settings,
    cores: null,
    directory,
  });
  closers.defer(child.stop);
  return { pid: child.pid, send: commandSender(child.address.controlUrl, signal) };
}

/**
 * Makes these transactions final at this rate. Measures from each commit to the first byte of the client's response.
 */
async function measureResponses(
  { signal }: BenchContext,
  { service, feeder, connectionString }: ServiceUnderTest,
  send: SendCommand,
  ids: readonly string[],
  perSecond: number,
): Promise<Figures> {
  const responses = new Map<string, number>();
  const cpuBefore = await cpuSeconds(service.pid);
  const fed = await atRate(ids, perSecond, signal, (id) => feeder.feed(successUpdate(id)));
  const count = fed.items.length;
  await until('every client of a final transaction has its response', RESPONSE_TIMEOUT_MS, signal, async () => {
    for (const [id, firstByteMs] of await send<FinalResponse[]>('takeResponses')) responses.set(id, firstByteMs);
    return responses.size >= count;
  });
  const cpuUsed = (await cpuSeconds(service.pid)) - cpuBefore;
  const committed = await commitTimes(
    connectionString,
    'select subject_id as id, xmin as written_by from tiba.events where subject_id = any ($1)',
    fed.items,
  );
  const latenciesMs = latencies(committed, responses);
  return { perSecond: fed.perSecond, ...percentiles(latenciesMs), cpuUs: (cpuUsed / count) * 1e6 };
}

const everyNth = (ids: readonly string[], n: number): string[] =>
  ids.filter((_, index) => index % Math.max(1, n) === 0);

/** The share of a core that the process uses, measured for this many seconds. */
async function cpuShare({ signal }: BenchContext, pid: number, seconds: number): Promise<number> {
  const [startedMs, before] = [performance.now(), await cpuSeconds(pid)];
  await wait(seconds * 1000, undefined, { signal });
  return (((await cpuSeconds(pid)) - before) * 1000) / (performance.now() - startedMs);
}

/** Waits until the service has processed everything that it received. */
const untilIdle = (context: BenchContext, pid: number): Promise<void> =>
  until('the service is idle', IDLE_TIMEOUT_MS, context.signal, async () => {
    return (await cpuShare(context, pid, IDLE_WINDOW_MS / 1000)) < IDLE_CPU_SHARE;
  });
