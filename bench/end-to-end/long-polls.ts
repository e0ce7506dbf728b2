import { setTimeout as wait } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import { startChild } from '../child.ts';
import { cpuSeconds } from '../cpu-time.ts';
import type { Answer, WaitingClientsAddress, WaitingClientsSettings } from '../processes/waiting-clients.ts';
import { atRate } from './at-rate.ts';
import { type Tell, tellAt } from './control.ts';
import { begun, ended } from './feed-lines.ts';
import { type Figures, latencies, percentiles } from './figures.ts';
import { commitTimes } from './postgres.ts';
import { openFilesMax, residentKib } from './process-facts.ts';
import type { Sizes } from './sizes.ts';
import type { Subject } from './subject.ts';
import { until } from './until.ts';

export interface Waiting {
  readonly figures: Figures;
  readonly kibPerClient: number;
  /** Shares of a core, from 0 to 1, while nothing changes. */
  readonly idleCpu: { readonly withNobody: number; readonly withAll: number };
  /** Of the service and of the clients, the lower. */
  readonly openFilesMax: number;
}

const WAIT_SECONDS = 30;
/** What a process has open beside the connections of those who wait. */
const OTHER_FILES = 200;
const ANSWERED_TIMEOUT_MS = 15_000;
const QUIET_TIMEOUT_MS = 20_000;
const QUIET_WITHIN_MS = 500;
const QUIET_SHARE = 0.1;

/** Many wait, each for a transaction of its own: what that costs, and how soon each is answered when its transaction ends. */
export async function measureLongPolls(stage: BenchContext, subject: Subject, sizes: Sizes): Promise<Waiting> {
  const { service, feeder, words } = subject;
  const { tell, pid } = await startClients(stage, subject);
  const filesMax = Math.min(await openFilesMax(service.pid), await openFilesMax(pid));
  if (filesMax < sizes.waiting + OTHER_FILES)
    throw new Error(`${sizes.waiting} connections need more open files than ${filesMax}: raise it with ulimit -n`);

  const rate = { perSecond: sizes.waitingChangesPerSecond, seconds: sizes.waitingSeconds };
  const warmUpIds = words.newIds(rate.perSecond * sizes.warmUpSeconds);
  const ids = words.newIds(sizes.waiting);
  await feeder.tellAll([...warmUpIds, ...ids].map(begun));

  stage.say('  warming up …');
  await tell('wait', warmUpIds);
  await answersTo(stage, subject, tell, warmUpIds, rate.perSecond);
  await tell('leave');
  await untilQuiet(stage, service.pid);
  const kibBefore = await residentKib(service.pid);
  const withNobody = await cpuShare(stage, service.pid, sizes.idleSeconds);

  stage.say(`  ${sizes.waiting.toLocaleString('en')} begin to wait …`);
  await tell('wait', ids);
  await untilQuiet(stage, service.pid);
  const kibAfter = await residentKib(service.pid);
  const withAll = await cpuShare(stage, service.pid, sizes.idleSeconds);

  stage.say('  their transactions end …');
  // From all over, as they would in life, and not in the order in which they began to wait.
  const ending = everyNth(ids, Math.floor(ids.length / (rate.perSecond * rate.seconds)));
  const figures = await answersTo(stage, subject, tell, ending, rate.perSecond);
  await tell('leave');
  return {
    figures,
    kibPerClient: (kibAfter - kibBefore) / sizes.waiting,
    idleCpu: { withNobody, withAll },
    openFilesMax: filesMax,
  };
}

async function startClients({ directory, closers, signal }: BenchContext, { service }: Subject) {
  const { publicUrl: url, token } = service.address;
  const settings: WaitingClientsSettings = { url, token, waitSeconds: WAIT_SECONDS };
  const child = await startChild<WaitingClientsAddress>({
    file: 'waiting-clients.ts',
    settings,
    cores: null,
    directory,
  });
  closers.defer(child.stop);
  return { pid: child.pid, tell: tellAt(child.address.controlUrl, signal) };
}

/** Ends these transactions at this rate. From the commit of each to the first byte of the answer to who waits for it. */
async function answersTo(
  { signal }: BenchContext,
  { service, feeder, connectionString }: Subject,
  tell: Tell,
  ids: readonly string[],
  perSecond: number,
): Promise<Figures> {
  const answers = new Map<string, number>();
  const cpuBefore = await cpuSeconds(service.pid);
  const told = await atRate(ids, perSecond, signal, (id) => feeder.tell(ended(id)));
  const count = told.items.length;
  await until('all who wait for what has ended are answered', ANSWERED_TIMEOUT_MS, signal, async () => {
    for (const [id, firstByteMs] of await tell<Answer[]>('answers')) answers.set(id, firstByteMs);
    return answers.size >= count;
  });
  const cpuUsed = (await cpuSeconds(service.pid)) - cpuBefore;
  const committed = await commitTimes(
    connectionString,
    'select subject_id as id, xmin as written_by from tiba.events where subject_id = any ($1)',
    told.items,
  );
  const took = latencies(committed, answers);
  return { perSecond: told.perSecond, ...percentiles(took), cpuUs: (cpuUsed / count) * 1e6 };
}

const everyNth = (ids: readonly string[], n: number): string[] =>
  ids.filter((_, index) => index % Math.max(1, n) === 0);

/** Of one core, over so many seconds. */
async function cpuShare({ signal }: BenchContext, pid: number, seconds: number): Promise<number> {
  const [startedMs, before] = [performance.now(), await cpuSeconds(pid)];
  await wait(seconds * 1000, undefined, { signal });
  return (((await cpuSeconds(pid)) - before) * 1000) / (performance.now() - startedMs);
}

/** Until everything that was sent to it has been dealt with. */
const untilQuiet = (stage: BenchContext, pid: number): Promise<void> =>
  until('the service has nothing to do', QUIET_TIMEOUT_MS, stage.signal, async () => {
    return (await cpuShare(stage, pid, QUIET_WITHIN_MS / 1000)) < QUIET_SHARE;
  });
