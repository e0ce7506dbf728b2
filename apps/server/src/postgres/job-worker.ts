import { EventEmitter } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Logger, runTaskList, type Worker, type WorkerEvents, type WorkerPool } from 'graphile-worker';
import pg from 'pg';
import type { Log } from '../observability/log.ts';
import { createSocketTracker } from './socket-tracker.ts';

export interface JobWorkerDependencies {
  readonly connection: pg.ClientConfig;
  /** By the task's name. They only wake somebody: what they throw is a defect, and is not tried again. */
  readonly tasks: Readonly<Record<string, (payload: unknown) => void>>;
  readonly log: Log;
}

/** One listens for jobs, two take them: a job is done in the time of a statement or two. */
export const JOB_CONNECTIONS = 3;
const JOBS_AT_ONCE = JOB_CONNECTIONS - 1;
/** Notifications wake the worker; this is for one that was missed. */
const POLL_INTERVAL_MS = 2_000;
const QUERY_TIMEOUT_MS = 1_750;
const CONNECT_TIMEOUT_MS = 1_000;
const RESTART_MS = 1_000;
/** A PostgreSQL that is frozen never says goodbye. */
const STOP_TIMEOUT_MS = 2_000;

/**
 * Runs the jobs that database transactions have left. graphile-worker holds on to connections that lead to a server which
 * has become read-only, and ends altogether when it cannot put a job away; so after any trouble with PostgreSQL it is
 * begun anew, with new connections.
 */
export function startJobWorker(dependencies: JobWorkerDependencies): { stop(): Promise<void> } {
  let running = begin(dependencies);
  let restart: NodeJS.Timeout | undefined;
  let stopped: Promise<void> | undefined;

  function watch(begun: Begun): void {
    void begun.trouble.then(() => {
      if (stopped !== undefined) return;
      restart = setTimeout(() => {
        running = begin(dependencies);
        watch(running);
        void begun.stop();
      }, RESTART_MS).unref();
    });
  }

  watch(running);
  return {
    stop() {
      clearTimeout(restart);
      stopped ??= running.stop();
      return stopped;
    },
  };
}

const OPTIONS = {
  concurrency: JOBS_AT_ONCE,
  pollInterval: POLL_INTERVAL_MS,
  noHandleSignals: true,
  // Jobs are put away in batches. One by one, nobody would hear when it fails, and a rejection that nobody hears ends
  // this process.
  preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
};

interface Begun {
  /** Resolves at the first sign of trouble; not when it was stopped. */
  readonly trouble: Promise<unknown>;
  stop(): Promise<void>;
}

function begin({ connection, tasks, log }: JobWorkerDependencies): Begun {
  const events: WorkerEvents = new EventEmitter();
  const sockets = createSocketTracker();
  const pool = openPool({ ...connection, stream: sockets.stream });
  const worker = runTaskList({ ...OPTIONS, events, logger: loggerTo(log) }, { ...tasks }, pool);
  endReleasedQuietly(events);
  const trouble = Promise.withResolvers<unknown>();
  for (const event of TROUBLE) events.once(event, trouble.resolve);
  worker.promise.catch(() => {});
  return {
    trouble: trouble.promise,
    async stop() {
      for (const event of TROUBLE) events.off(event, trouble.resolve);
      await sockets.close(() =>
        Promise.race([end(worker, pool, log), wait(STOP_TIMEOUT_MS, undefined, { ref: false })]),
      );
    },
  };
}

/** What stops of itself is released too. */
const TROUBLE = ['worker:getJob:error', 'pool:listen:error', 'pool:fatalError', 'pool:release'] as const;

/**
 * A worker that was let go while it looked for a job, and finds that PostgreSQL is gone, would end with a `console.trace`
 * between the log's lines. It has no job in hand, so it is made to end before that.
 */
function endReleasedQuietly(events: WorkerEvents): void {
  const released = new WeakSet<Worker>();
  events.on('worker:release', ({ worker }) => void released.add(worker));
  events.on('worker:getJob:error', ({ worker }) => {
    if (released.has(worker)) void worker.release(true);
  });
}

/** Its lines about each job would be as many as requests. */
function loggerTo(log: Log): Logger {
  return new Logger(() => (level, message) => {
    if (level === 'error' || level === 'warning') log.warn(`jobs: ${message}`);
  });
}

function openPool(connection: pg.ClientConfig): pg.Pool {
  const pool = new pg.Pool({
    ...connection,
    max: JOB_CONNECTIONS,
    application_name: 'tiba jobs',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  });
  // The statement that was under way reports the loss of a connection; unheard it would end this process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

async function end(worker: WorkerPool, pool: pg.Pool, log: Log): Promise<void> {
  try {
    await worker.gracefulShutdown();
  } catch (error) {
    // Without PostgreSQL it cannot end in order, and leaves nothing behind that another would miss.
    log.debug({ err: error }, 'the job worker did not end in order');
  }
  await pool.end();
}
