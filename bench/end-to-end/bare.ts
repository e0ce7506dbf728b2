import pg from 'pg';
import type { BenchContext } from '../bench-context.ts';
import { type Child, startChild } from '../child.ts';
import { cpuSeconds } from '../cpu-time.ts';
import { makeEmptyDatabase } from '../database/databases.ts';
import type { BareCarrierAddress, BareCarrierSettings, Heard, Posted } from '../processes/bare-carrier.ts';
import { atRate } from './at-rate.ts';
import type { Rate } from './callback-latency.ts';
import { type Tell, tellAt } from './control.ts';
import { type Figures, latencies, NO_FIGURES, percentiles } from './figures.ts';
import { commitTimes } from './postgres.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { until } from './until.ts';

/** What the service is held against: PostgreSQL's own news, and nothing but a POST for each. */
export interface Bare {
  readonly carrier: Child<BareCarrierAddress>;
  readonly tell: Tell;
  readonly receiver: Receiver;
  /** What changes are told through. */
  readonly core: pg.Pool;
  readonly connectionString: string;
  told: number;
}

/** As many as the service has in flight to one endpoint. */
export const PLACES = 32;
const CHANNEL = 'bare';
const CORE_CONNECTIONS = 4;
const BODY_LENGTH = 600;
const ARRIVED_TIMEOUT_MS = 15_000;

export async function startBare(stage: BenchContext): Promise<Bare> {
  const { cores, directory, signal } = stage;
  signal.throwIfAborted();
  const connectionString = await makeEmptyDatabase(stage, 'bench_bare');
  const core = new pg.Pool({ connectionString, max: CORE_CONNECTIONS });
  core.on('error', () => {});
  stage.closers.defer(() => core.end());
  await core.query('create table told (id text primary key)');

  const receiver = await startReceiver(stage);
  const body = JSON.stringify({ data: 'x'.repeat(BODY_LENGTH) });
  const settings: BareCarrierSettings = { connectionString, channel: CHANNEL, url: receiver.url, places: PLACES, body };
  const carrier = await startChild<BareCarrierAddress>({ file: 'bare-carrier.ts', settings, cores, directory });
  stage.closers.defer(carrier.stop);
  return { carrier, tell: tellAt(carrier.address.controlUrl, signal), receiver, core, connectionString, told: 0 };
}

export interface BareNotices {
  /** From the commit to the listener. */
  readonly heard: Figures;
  /** From the commit to the receiver. */
  readonly carried: Figures;
}

export async function measureBareNotices(
  { signal }: BenchContext,
  bare: Bare,
  { perSecond, seconds }: Rate,
): Promise<BareNotices> {
  const { carrier, tell, receiver, core, connectionString } = bare;
  const ids = Array.from({ length: perSecond * seconds }, () => `bare_${(bare.told += 1)}`);
  const { count: countBefore } = await receiver.count();
  await Promise.all([tell('heard'), receiver.arrivals()]);

  const cpuBefore = await cpuSeconds(carrier.pid);
  const done = await atRate(ids, perSecond, signal, (id) => core.query({ name: 'tell', text: TELL, values: [id] }));
  await until('everything told has arrived', ARRIVED_TIMEOUT_MS, signal, async () => {
    return (await receiver.count()).count >= countBefore + done.items.length;
  });
  const cpuUs = (((await cpuSeconds(carrier.pid)) - cpuBefore) / done.items.length) * 1e6;

  const sql = 'select id, xmin as written_by from told where id = any ($1)';
  const committed = await commitTimes(connectionString, sql, done.items);
  const heard = percentiles(latencies(committed, new Map(await tell<Heard[]>('heard'))));
  const carried = percentiles(latencies(committed, await receiver.arrivals()));
  return {
    heard: { ...NO_FIGURES, perSecond: done.perSecond, ...heard },
    carried: { perSecond: done.perSecond, ...carried, cpuUs },
  };
}

const TELL = `with written as (insert into told (id) values ($1) returning id) select pg_notify('${CHANNEL}', id) from written`;

/** Posts in as many places as the service uses, to a receiver of the same kind. */
export async function measureBarePosts({ carrier, tell, receiver }: Bare, seconds: number): Promise<Figures> {
  const cpuBefore = await cpuSeconds(carrier.pid);
  const posted = await tell<Posted>('post', seconds);
  const cpuUsed = (await cpuSeconds(carrier.pid)) - cpuBefore;
  await receiver.arrivals();
  return { ...NO_FIGURES, perSecond: posted.count / posted.seconds, cpuUs: (cpuUsed / posted.count) * 1e6 };
}
