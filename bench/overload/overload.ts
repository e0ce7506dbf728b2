import { setTimeout as wait } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import { type Child, startChild } from '../child.ts';
import { type BenchDatabase, makeDatabase } from '../database/databases.ts';
import { commandSender, type SendCommand } from '../end-to-end/control.ts';
import { CONNECTIONS, NUMBERS_PER_RUN, type Requests } from '../load/load.ts';
import { cpuSeconds, residentKib } from '../process-stats.ts';
import type { OfferedLoad, OpenLoopClientsAddress, OpenLoopReport } from '../processes/open-loop-clients.ts';
import type { Ratio } from '../ratios.ts';
import { checkAccountRequests, checkStatusRequests } from '../requests.ts';
import { type Service, startInstantBank, startService } from '../services.ts';
import type { Figures, OverloadRound, OverloadTarget } from './figures.ts';
import { overloadRatios, overloadTable } from './report.ts';

export interface OverloadOptions {
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly warmUpSeconds: number;
  readonly smallRows: number;
}

/** Times the capacity. */
const TIMES = [1, 2, 4, 8] as const;
/** The longest that a client of check-account has to wait for an answer (docs/contract.md 4.3). */
const DEADLINE_MS = 5_000;
const SOON_MS = 1_000;
const SLOW_BANK_MS = 500;
/** Open in the overload: as many clients as want an answer at the same time. */
const CONNECTIONS_MAX = 2_000;
/** Of each load that counts for nothing: the service learns that it is overloaded, or recovers. */
const SETTLING_MS = 1_000;
const SAMPLE_MS = 100;

/** Offers more requests than the service can answer, at a pace that does not depend on the answers. */
export async function measureOverload(
  context: BenchContext,
  options: OverloadOptions,
): Promise<{ text: string; ratios: Ratio[] }> {
  const database = await makeDatabase(context, 'bench_overload', options.smallRows);
  context.logProgress('starting the servers …');
  const measured: OverloadTarget[] = [];
  for (const { title, start } of targets(context, database))
    measured.push(await measure(context, title, start, options));
  return { text: overloadTable(measured), ratios: overloadRatios(measured) };
}

interface Started {
  readonly service: Service;
  readonly requests: Requests;
}

function targets(context: BenchContext, database: BenchDatabase) {
  const toBank = (name: string, delayMs: number) => async (): Promise<Started> => {
    const rail = await startInstantBank(context, delayMs);
    const service = await startService(context, { name, database, rail, shedsLoad: true });
    return { service, requests: checkAccountRequests(service) };
  };
  return [
    {
      title: 'check-status',
      async start(): Promise<Started> {
        const service = await startService(context, { name: 'overload', database, shedsLoad: true });
        const { publicUrl, token } = service.address;
        return { service, requests: checkStatusRequests(publicUrl, token, database) };
      },
    },
    { title: 'check-account, instant bank', start: toBank('overload-instant-bank', 0) },
    { title: `check-account, bank of ${SLOW_BANK_MS} ms`, start: toBank('overload-slow-bank', SLOW_BANK_MS) },
  ];
}

async function measure(
  context: BenchContext,
  title: string,
  start: () => Promise<Started>,
  { rounds, roundSeconds, warmUpSeconds }: OverloadOptions,
): Promise<OverloadTarget> {
  const { service, requests } = await start();
  const clients = await startClients(context, requests);
  const command = commandSender(clients.address.controlUrl, context.signal);
  let run = 0;
  const offer = (load: Pick<OfferedLoad, 'perSecond' | 'connectionsMax'>, seconds: number): Promise<Figures> => {
    run += 1;
    return offerLoad(context, service, command, { ...load, firstNumber: run * NUMBERS_PER_RUN }, seconds);
  };
  const measureCapacity = (): Promise<Figures> => offer({ perSecond: null, connectionsMax: CONNECTIONS }, roundSeconds);

  context.logProgress(`${title}: warming up …`);
  await offer({ perSecond: null, connectionsMax: CONNECTIONS }, warmUpSeconds);
  const measured: OverloadRound[] = [];
  let before = await measureCapacity();
  for (let round = 1; round <= rounds; round += 1)
    for (const times of TIMES) {
      context.logProgress(`${title}: round ${round} of ${rounds}, ${times} times the capacity …`);
      const perSecond = before.goodPerSecond * times;
      const overload = await offer({ perSecond, connectionsMax: CONNECTIONS_MAX }, roundSeconds);
      const after = await measureCapacity();
      measured.push({ times, capacity: [before, after], overload });
      before = after;
    }
  await clients.stop();
  return { title, rounds: measured };
}

async function startClients(context: BenchContext, requests: Requests): Promise<Child<OpenLoopClientsAddress>> {
  const clients = await startChild<OpenLoopClientsAddress>({
    file: 'open-loop-clients.ts',
    settings: { requests, deadlineMs: DEADLINE_MS, soonMs: SOON_MS },
    cores: null,
    directory: context.directory,
  });
  context.closers.defer(clients.stop);
  return clients;
}

async function offerLoad(
  { signal }: BenchContext,
  { pid }: Service,
  command: SendCommand,
  load: OfferedLoad,
  seconds: number,
): Promise<Figures> {
  await command('begin', load);
  await wait(SETTLING_MS, null, { signal });
  await command('takeReport');
  const cpuBefore = await cpuSeconds(pid);
  const endMs = performance.now() + seconds * 1_000;
  let mostKib = 0;
  while (performance.now() < endMs) {
    mostKib = Math.max(mostKib, await residentKib(pid));
    await wait(SAMPLE_MS, null, { signal });
  }
  const report = await command<OpenLoopReport>('takeReport');
  const cpuUsed = (await cpuSeconds(pid)) - cpuBefore;
  await command('end');
  return {
    ...report,
    goodPerSecond: report.good / report.seconds,
    cpuUsPerGood: (cpuUsed * 1e6) / report.good,
    residentMib: mostKib / 1_024,
  };
}
