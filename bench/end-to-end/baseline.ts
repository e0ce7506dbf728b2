import pg from 'pg';
import type { BenchContext } from '../bench-context.ts';
import { type Child, startChild } from '../child.ts';
import { makeEmptyDatabase } from '../database/databases.ts';
import { cpuSeconds } from '../process-stats.ts';
import type {
  BaselineForwarderAddress,
  BaselineForwarderSettings,
  PostResult,
  ReceivedNotification,
} from '../processes/baseline-forwarder.ts';
import type { Rate } from './callback-latency.ts';
import { commandSender, type SendCommand } from './control.ts';
import { type Figures, latencies, NO_FIGURES, percentiles } from './figures.ts';
import { commitTimes } from './postgres.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { atRate, until } from './timing.ts';

/** The baseline for callbacks: NOTIFY of PostgreSQL, and only a POST for each notification. */
export interface Baseline {
  readonly forwarder: Child<BaselineForwarderAddress>;
  readonly send: SendCommand;
  readonly receiver: Receiver;
  /** Connections that commit the changes. */
  readonly pool: pg.Pool;
  readonly connectionString: string;
  /** How many changes have been committed so far. */
  changes: number;
}

/** As many requests as the service has in flight to one endpoint. */
export const CONCURRENCY = 32;
const CHANNEL = 'baseline';
const POOL_CONNECTIONS = 4;
const BODY_LENGTH = 600;
const ARRIVAL_TIMEOUT_MS = 15_000;

export async function startBaseline(context: BenchContext): Promise<Baseline> {
  const { cores, directory, signal } = context;
  signal.throwIfAborted();
  const connectionString = await makeEmptyDatabase(context, 'bench_baseline');
  const pool = new pg.Pool({ connectionString, max: POOL_CONNECTIONS });
  pool.on('error', () => {});
  context.closers.defer(() => pool.end());
  await pool.query('create table changes (id text primary key)');

  const receiver = await startReceiver(context);
  const settings: BaselineForwarderSettings = {
    connectionString,
    channel: CHANNEL,
    url: receiver.url,
    concurrency: CONCURRENCY,
    body: JSON.stringify({ data: 'x'.repeat(BODY_LENGTH) }),
  };
  const file = 'baseline-forwarder.ts';
  const forwarder = await startChild<BaselineForwarderAddress>({ file, settings, cores, directory });
  context.closers.defer(forwarder.stop);
  const send = commandSender(forwarder.address.controlUrl, signal);
  return { forwarder, send, receiver, pool, connectionString, changes: 0 };
}

export interface BaselineLatency {
  /** From the commit to the process that listens. */
  readonly listen: Figures;
  /** From the commit to the receiver. */
  readonly post: Figures;
}

export async function measureBaselineLatency(
  { signal }: BenchContext,
  baseline: Baseline,
  { perSecond, seconds }: Rate,
): Promise<BaselineLatency> {
  const { forwarder, send, receiver, pool, connectionString } = baseline;
  const ids = Array.from({ length: perSecond * seconds }, () => `baseline_${(baseline.changes += 1)}`);
  const { count: countBefore } = await receiver.count();
  await Promise.all([send('takeReceived'), receiver.takeArrivals()]);

  const cpuBefore = await cpuSeconds(forwarder.pid);
  const done = await atRate(ids, perSecond, signal, (id) =>
    pool.query({ name: 'insert-and-notify', text: INSERT_AND_NOTIFY, values: [id] }),
  );
  await until('every POST has arrived', ARRIVAL_TIMEOUT_MS, signal, async () => {
    return (await receiver.count()).count >= countBefore + done.items.length;
  });
  const cpuUs = (((await cpuSeconds(forwarder.pid)) - cpuBefore) / done.items.length) * 1e6;

  const sql = 'select id, xmin as written_by from changes where id = any ($1)';
  const committed = await commitTimes(connectionString, sql, done.items);
  const received = new Map(await send<ReceivedNotification[]>('takeReceived'));
  const listen = percentiles(latencies(committed, received));
  const post = percentiles(latencies(committed, await receiver.takeArrivals()));
  return {
    listen: { ...NO_FIGURES, perSecond: done.perSecond, ...listen },
    post: { perSecond: done.perSecond, ...post, cpuUs },
  };
}

const INSERT_AND_NOTIFY = `
with inserted as (insert into changes (id) values ($1) returning id)
select pg_notify('${CHANNEL}', id) from inserted`;

/** Measures POSTs with the same concurrency as the service, to a receiver of the same kind. */
export async function measureBaselinePosts({ forwarder, send, receiver }: Baseline, seconds: number): Promise<Figures> {
  const cpuBefore = await cpuSeconds(forwarder.pid);
  const posted = await send<PostResult>('post', seconds);
  const cpuUsed = (await cpuSeconds(forwarder.pid)) - cpuBefore;
  await receiver.takeArrivals();
  return { ...NO_FIGURES, perSecond: posted.count / posted.seconds, cpuUs: (cpuUsed / posted.count) * 1e6 };
}
