import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import path from 'node:path';
import { SECRET_KEY_BYTES } from '../apps/server/src/config/values.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../apps/server/src/embedded-postgres/embedded-postgres.ts';
import { createLog, type Log } from '../apps/server/src/observability/log.ts';
import { type Cores, pinToCores } from './cores.ts';
import { autocannonLoad } from './load/autocannon.ts';
import type { Load } from './load/load.ts';
import { findWrk } from './load/wrk.ts';
import type { LoadName, Options } from './options.ts';

/** What all measurements share. Everything that is started is added to `closers`, which stop the last one first. */
export interface BenchContext {
  /** Temporary; removed at the end. */
  readonly directory: string;
  readonly postgres: EmbeddedPostgres;
  readonly load: Load;
  /** null where processes cannot be pinned to a core. */
  readonly cores: Cores | null;
  /** The same for all services, because they share databases. */
  readonly secretKey: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Prints a line of progress. */
  readonly logProgress: (line: string) => void;
  readonly closers: AsyncDisposableStack;
}

export interface BenchContextDependencies extends Pick<BenchContext, 'signal' | 'logProgress' | 'closers'> {
  readonly options: Options;
}

export async function openBenchContext({
  options,
  signal,
  logProgress,
  closers,
}: BenchContextDependencies): Promise<BenchContext> {
  if (process.platform !== 'linux')
    throw new Error('the benchmark reads CPU times from /proc, so it runs on Linux only');
  const load = await chooseLoad(options.load);
  // First, because every process that is started later inherits the core.
  const cores = await pinToCores();

  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-bench-'));
  closers.defer(() => rm(directory, { recursive: true, force: true }));
  const { log, close: closeLog } = createLog(path.join(directory, 'bench.log'));
  closers.defer(closeLog);
  logProgress('starting PostgreSQL …');
  // The data does not outlive the run, so it need not survive a power cut. This makes filling faster; reads are the
  // same.
  const postgres = await startEmbeddedPostgres({
    dataDirectory: path.join(directory, 'postgres'),
    durable: false,
    ...(options.scale ? { sharedBuffersMb: recommendedBuffersMb(options.scaleRows) } : {}),
  });
  closers.defer(() => postgres.stop());
  return {
    directory,
    postgres,
    load,
    cores,
    secretKey: randomBytes(SECRET_KEY_BYTES).toString('base64'),
    log,
    signal,
    logProgress,
    closers,
  };
}

const MB = 1024 * 1024;
/** docs/operating.md, Memory. */
const BUFFERS_MB_PER_MILLION = 800;
const BUFFERS_MB_MIN = 1_024;
/** The files of the database are in the memory as well. */
const BUFFERS_SHARE_OF_MEMORY = 1 / 3;

function recommendedBuffersMb(rows: number): number {
  const recommended = Math.max((rows / 1e6) * BUFFERS_MB_PER_MILLION, BUFFERS_MB_MIN);
  return Math.floor(Math.min(recommended, (totalmem() / MB) * BUFFERS_SHARE_OF_MEMORY));
}

/** @throws Error when wrk is requested and not installed. */
async function chooseLoad(name: LoadName | null): Promise<Load> {
  if (name === 'autocannon') return autocannonLoad();
  const wrk = await findWrk();
  if (wrk !== null) return wrk;
  if (name === 'wrk') throw new Error('wrk is not installed: install it, or use --load autocannon');
  return autocannonLoad();
}
