import { EventEmitter } from 'node:events';
import { Logger, runTaskList, type Worker, type WorkerEvents, type WorkerPool } from 'graphile-worker';
import pg from 'pg';
import type { RunReport } from '../lib/repeat.ts';
import { UnavailableError } from '../lib/unavailable-error.ts';
import { within } from '../lib/within.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import { surviveLostConnections } from './lost-connections.ts';
import type { PostgresConnection } from './primary-client.ts';
import { createSocketTracker } from './socket-tracker.ts';

export interface JobWorkerDependencies {
  readonly connection: PostgresConnection;
  /** By task name. Tasks only wake other code up, so an exception in one is a defect, and the job is not retried. */
  readonly tasks: Readonly<Record<string, (payload: unknown) => void>>;
  readonly log: Log;
}

/** One connection listens for jobs and two run them: a job takes no longer than one or two statements. */
export const JOB_CONNECTIONS = 3;
const CONCURRENT_JOBS = JOB_CONNECTIONS - 1;
/** Notifications wake the worker. Polling finds jobs whose notification was lost. */
const POLL_INTERVAL_MS = 2_000;
const QUERY_TIMEOUT_MS = 1_750;
const CONNECT_TIMEOUT_MS = 1_000;
const RESTART_MS = 1_000;
/** A frozen PostgreSQL never confirms that a connection ends. */
const STOP_TIMEOUT_MS = 2_000;

/**
 * Runs the jobs that database transactions leave. graphile-worker keeps connections to a server that has become
 * read-only, and stops altogether when it cannot complete a job. So after any failure of PostgreSQL the worker is
 * replaced by a new one with new connections.
 */
export function startJobWorker(dependencies: JobWorkerDependencies): { stop(): Promise<void> } {
  const failures = createFailureLog(dependencies.log, 'graphile-worker reported a problem');
  let running = startWorker(dependencies, failures);
  let restart: NodeJS.Timeout | undefined;
  let stopped: Promise<void> | undefined;

  function restartAfterFailure(worker: RunningWorker): void {
    void worker.failed.then(() => {
      if (stopped !== undefined) return;
      restart = setTimeout(() => {
        running = startWorker(dependencies, failures);
        restartAfterFailure(running);
        void worker.stop();
      }, RESTART_MS).unref();
    });
  }

  restartAfterFailure(running);
  return {
    stop() {
      clearTimeout(restart);
      stopped ??= running.stop();
      return stopped;
    },
  };
}

const OPTIONS = {
  concurrency: CONCURRENT_JOBS,
  pollInterval: POLL_INTERVAL_MS,
  noHandleSignals: true,
  // Completes jobs in batches. When it completes them one by one, a failure is an unhandled rejection, which ends this
  // process.
  preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
};

interface RunningWorker {
  /** Resolves at the first sign of a failure; not when the worker was stopped. */
  readonly failed: Promise<unknown>;
  stop(): Promise<void>;
}

function startWorker({ connection, tasks, log }: JobWorkerDependencies, failures: RunReport): RunningWorker {
  let isStopping = false;
  const events: WorkerEvents = new EventEmitter();
  const sockets = createSocketTracker();
  const pool = openPool({ ...connection, stream: sockets.stream });
  const worker = runTaskList({ ...OPTIONS, events, logger: loggerTo(onProblem) }, { ...tasks }, pool);
  endReleasedQuietly(events);
  for (const event of SUCCESS_EVENTS) events.on(event, failures.succeeded);
  // While it stops, it may find its connections closed.
  function onProblem(detail: string): void {
    if (!isStopping) failures.failed(new UnavailableError(detail));
  }
  const failure = Promise.withResolvers<unknown>();
  for (const event of FAILURE_EVENTS) events.once(event, failure.resolve);
  worker.promise.catch(() => {});
  return {
    failed: failure.promise,
    async stop() {
      isStopping = true;
      for (const event of FAILURE_EVENTS) events.off(event, failure.resolve);
      await sockets.close(() => within(shutDown(worker, pool, log), STOP_TIMEOUT_MS, undefined));
    },
  };
}

/** A worker that stops by itself is released too. */
const FAILURE_EVENTS = ['worker:getJob:error', 'pool:listen:error', 'pool:fatalError', 'pool:release'] as const;

const SUCCESS_EVENTS = ['pool:listen:success', 'worker:getJob:empty'] as const;

/**
 * A worker that is released while it looks for a job, and finds PostgreSQL unavailable, would end with a
 * `console.trace` between the JSON lines of the log. It holds no job at that time, so it is ended before that.
 */
function endReleasedQuietly(events: WorkerEvents): void {
  const released = new WeakSet<Worker>();
  events.on('worker:release', ({ worker }) => void released.add(worker));
  events.on('worker:getJob:error', ({ worker }) => {
    if (released.has(worker)) void worker.release(true);
  });
}

/** Only warnings and errors: graphile-worker's lines about single jobs would be as many as requests. */
function loggerTo(onProblem: (detail: string) => void): Logger {
  return new Logger(() => (severity, detail) => {
    // The same in both cases: its errors are mostly a PostgreSQL that is away, and it retries by itself.
    if (severity === 'error' || severity === 'warning') onProblem(detail);
  });
}

function openPool(connection: PostgresConnection): pg.Pool {
  const pool = new JobPool({
    ...connection,
    max: JOB_CONNECTIONS,
    application_name: 'tiba jobs',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  });
  surviveLostConnections(pool);
  return pool;
}

type ConnectCallback = Parameters<pg.Pool['connect']>[0];

/**
 * graphile-worker releases the connection that listens twice, when it is lost while the worker stops. The second time
 * would be an unhandled rejection, which ends this process.
 */
class JobPool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    if (callback === undefined) return super.connect();
    super.connect((error, client, release) => {
      // Without a client there is no function either.
      let isReleased = client === undefined;
      callback(error, client, (reason) => {
        if (isReleased) return;
        isReleased = true;
        release(reason);
      });
    });
  }
}

async function shutDown(worker: WorkerPool, pool: pg.Pool, log: Log): Promise<void> {
  try {
    await worker.gracefulShutdown();
  } catch (error) {
    // A graceful shutdown needs PostgreSQL. Without one, nothing is left behind that another process would miss.
    log.debug({ err: error }, 'graceful shutdown of the job worker failed; nothing is lost');
  }
  await pool.end();
}
