import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SECRET_KEY_BYTES } from '../apps/server/src/config-values.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../apps/server/src/embedded-postgres/embedded-postgres.ts';
import { createLog, type Log } from '../apps/server/src/observability/log.ts';
import { type Cores, takeCores } from './cores.ts';
import { chooseLoad } from './load/choose.ts';
import { type Load } from './load/load.ts';
import type { Options } from './options.ts';

/** What every variant plays on. Whatever is started for it is handed to `closers`, which stop the last first. */
export interface BenchContext {
  /** Temporary; gone at the end. */
  readonly directory: string;
  readonly postgres: EmbeddedPostgres;
  readonly load: Load;
  /** Null where nothing can be bound to a core. */
  readonly cores: Cores | null;
  /** Of the services, which share databases. */
  readonly secretKey: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Tells the person who waits what happens. */
  readonly say: (line: string) => void;
  readonly closers: AsyncDisposableStack;
}

export interface BenchContextDependencies extends Pick<BenchContext, 'signal' | 'say' | 'closers'> {
  readonly options: Options;
}

export async function openBenchContext({
  options,
  signal,
  say,
  closers,
}: BenchContextDependencies): Promise<BenchContext> {
  if (process.platform !== 'linux')
    throw new Error('the benchmark reads CPU times from /proc, so it runs on Linux only');
  const load = await chooseLoad(options.load);
  // Before anything is started, because what is started inherits the core.
  const cores = await takeCores();

  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-bench-'));
  closers.defer(() => rm(directory, { recursive: true, force: true }));
  const { log, close: closeLog } = createLog(path.join(directory, 'bench.log'));
  closers.defer(closeLog);
  say('starting PostgreSQL …');
  // Nothing here outlives the run, so nothing need survive a power cut. It makes filling faster; reading does not differ.
  const postgres = await startEmbeddedPostgres({ dataDirectory: path.join(directory, 'postgres'), durable: false });
  closers.defer(() => postgres.stop());
  return {
    directory,
    postgres,
    load,
    cores,
    secretKey: randomBytes(SECRET_KEY_BYTES).toString('base64'),
    log,
    signal,
    say,
    closers,
  };
}
