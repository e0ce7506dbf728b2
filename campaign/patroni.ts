import { setTimeout as delay } from 'node:timers/promises';
import { connectionTo } from '../apps/server/src/postgres/primary-client.ts';
import { type PatroniCluster, patroniMissing, startPatroniCluster } from './failover/patroni-cluster.ts';
import { openLoad, verdictOf } from './failover/steady-load.ts';
import type { Part } from './part.ts';
import { openEnvironment } from './random/environment.ts';
import { type CampaignRecord, createRecord } from './random/record.ts';
import { openSurroundings, startProcesses } from './random/surroundings.ts';

const PROCESSES = 2;
const KILLS = 2;
/** Between two failovers, and before the first. */
const CALM_MS = 10_000;
/** From the moment when a server accepts writes. */
const ANSWERS_WITHIN_MS = 2_000;
const DATABASE = 'tiba';

/** A time in which requests may fail, on the clock of `performance.now()`. */
interface Outage {
  readonly fromMs: number;
  untilMs: number;
}

/**
 * Two PostgreSQL servers under Patroni, with commits that wait for the standby. The leader is killed twice under load,
 * once on each server. It takes as long as it takes: `--seconds` does not apply.
 */
export const patroni: Part = async ({ seed, signal, print }) => {
  const missing = patroniMissing();
  if (missing !== null) throw new Error(missing);
  const record = createRecord();
  await using closers = new AsyncDisposableStack();
  const environment = await openEnvironment();
  closers.defer(() => environment.close());
  print('starting Patroni');
  const cluster = await startPatroniCluster();
  closers.defer(() => cluster.remove());
  await cluster.query(`create database ${DATABASE} owner tiba`);
  const url = cluster.url(DATABASE);
  const database = { url, connection: connectionTo(url) };
  const surroundings = await openSurroundings({ seed, environment, record, hasValkey: false, database }, closers);
  const serviceSettings = { ...surroundings.serviceSettings, TIBA_EVENT_LOOP_DELAY_MS: '0' };
  const processes = await startProcesses({ ...surroundings, serviceSettings }, PROCESSES, closers);
  const outages: Outage[] = [];
  const answers = createAnswerTimes();
  let leader = await cluster.leader();
  const load = await openLoad(
    {
      seed,
      signal,
      surroundings,
      processes,
      mayFail: (startedMs) => outages.some(({ fromMs, untilMs }) => startedMs < untilMs && performance.now() >= fromMs),
      onAnswer: ({ request }) => answers.note(request.listener === 'operator' ? 'feed' : 'read'),
      connection: () => leader.connection(DATABASE),
    },
    closers,
  );

  for (let kill = 0; kill < KILLS && !signal.aborted; kill += 1) {
    await delay(CALM_MS, undefined, { signal });
    const killed = leader;
    const outage = { fromMs: performance.now(), untilMs: Number.POSITIVE_INFINITY };
    outages.push(outage);
    await killed.kill();
    leader = await cluster.leader();
    const leaderMs = performance.now();
    outage.untilMs = leaderMs + ANSWERS_WITHIN_MS;
    print(`${killed.name} killed; ${leader.name} accepts writes after ${seconds(leaderMs - outage.fromMs)} s`);
    record.count('kills of the leader');
    await delay(ANSWERS_WITHIN_MS, undefined, { signal });
    judgeAnswers(record, answers.firstSince(leaderMs), leaderMs, print);
    await delay(CALM_MS, undefined, { signal });
    await rejoin(cluster, killed.start);
    print(`${killed.name} is the standby again`);
  }
  await delay(CALM_MS, undefined, { signal });
  await load.end();
  const restarted = processes.filter((each) => each.starts() !== 1).map(({ name }) => name);
  if (restarted.length > 0) record.wrong('a process was restarted', restarted.join());
  record.count('processes restarted', restarted.length);
  return verdictOf(record, seed);
};

/** Commits wait until it replicates. */
async function rejoin(cluster: PatroniCluster, start: () => void): Promise<void> {
  start();
  await cluster.untilSynchronous();
}

type AnswerKind = 'feed' | 'read';
type AnswerTimes = Readonly<Record<AnswerKind, number>>;

/** When requests were answered, without those that failed. */
function createAnswerTimes() {
  const times: { readonly kind: AnswerKind; readonly atMs: number }[] = [];
  return {
    note: (kind: AnswerKind) => void times.push({ kind, atMs: performance.now() }),
    /** Infinity: never. */
    firstSince(fromMs: number): AnswerTimes {
      const first = (kind: AnswerKind): number =>
        times.find((each) => each.kind === kind && each.atMs >= fromMs)?.atMs ?? Number.POSITIVE_INFINITY;
      return { feed: first('feed'), read: first('read') };
    },
  };
}

function judgeAnswers(record: CampaignRecord, first: AnswerTimes, leaderMs: number, print: (line: string) => void) {
  for (const kind of ['read', 'feed'] as const) {
    const tookMs = first[kind] - leaderMs;
    print(`  first ${kind} answered ${seconds(tookMs)} s after it`);
    record.most(`first ${kind} after the new leader, ms`, Math.round(tookMs));
    if (tookMs > ANSWERS_WITHIN_MS) record.wrong('no answer within 2 s of the new leader', `${kind}: ${tookMs} ms`);
  }
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(2);
