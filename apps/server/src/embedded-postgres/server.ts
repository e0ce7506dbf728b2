import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedPostgresError } from './error.ts';
import type { Command } from './launcher.ts';
import { logPathOf, openLog, sizeOf, tailOf } from './log-file.ts';
import { findPostmaster, stopPostmaster } from './postmaster.ts';

export interface Server {
  readonly pid: number;
  /** Fulfils with a description when the process has ended, for whatever reason; never rejects. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}

const pollMs = 4;
const readyWithinMs = 60_000;
const reportEveryMs = 10_000;

/** Starts the server and waits until it takes connections. */
export async function startServer(
  command: Command,
  dataDirectory: string,
  log: (line: string) => void,
): Promise<Server> {
  const logPath = logPathOf(dataDirectory);
  const logFile = await openLog(logPath);
  const logOffset = await sizeOf(logPath);
  let server: Server;
  try {
    const child = spawn(command.file, command.args, {
      ...command.options,
      stdio: ['ignore', logFile.fd, logFile.fd],
      // A session of its own: Ctrl-C in the terminal must not end it before Tiba has finished its work.
      detached: true,
    });
    // Listens before anything is awaited: a server that refuses to start ends within milliseconds.
    const exited = awaitExit(child);
    await once(child, 'spawn');
    server = supervise(child, exited);
  } catch (cause) {
    throw new EmbeddedPostgresError('START_FAILED', `PostgreSQL cannot be started: ${String(cause)}`, { cause });
  } finally {
    await logFile.close();
  }
  try {
    await waitUntilReady(server, dataDirectory, log);
  } catch (error) {
    await server.stop();
    throw error instanceof EmbeddedPostgresError
      ? new EmbeddedPostgresError(error.code, `${error.message}\n${logPath}:\n${await tailOf(logPath, logOffset)}`)
      : error;
  }
  return server;
}

function awaitExit(child: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  return promise;
}

function supervise(child: ChildProcess, exited: Promise<string>): Server {
  const { pid } = child;
  if (pid === undefined) throw new Error('a spawned process has an id');
  // A Tiba that ends without stopping (an uncaught error) takes its server with it; this cannot wait for the end.
  const endWithProcess = () => child.kill('SIGINT');
  process.on('exit', endWithProcess);
  void exited.then(() => process.removeListener('exit', endWithProcess));
  const hasEnded = async (waitMs: number): Promise<boolean> => {
    const waiting = new AbortController();
    try {
      const late = delay(waitMs, false, { signal: waiting.signal }).catch(() => false);
      return await Promise.race([exited.then(() => true), late]);
    } finally {
      waiting.abort();
    }
  };
  const stop = async () => {
    if (!(await stopPostmaster(pid, hasEnded))) throw new Error(`PostgreSQL (process ${pid}) does not end`);
  };
  let stopping: Promise<void> | null = null;
  return { pid, exited, stop: () => (stopping ??= stop()) };
}

/** Recovery after a crash takes as long as it takes: the limit counts only while the server does not say that it starts. */
async function waitUntilReady(server: Server, dataDirectory: string, log: (line: string) => void): Promise<void> {
  const began = performance.now();
  let reportAt = began + reportEveryMs;
  for (;;) {
    const postmaster = await readOwnPostmaster(dataDirectory, server.pid);
    if (postmaster?.status === 'ready') return;
    const now = performance.now();
    if (postmaster?.status !== 'starting' && now - began > readyWithinMs) {
      throw new EmbeddedPostgresError('START_FAILED', `PostgreSQL was not ready within ${readyWithinMs / 1000} s.`);
    }
    if (now > reportAt) {
      log(`waiting for PostgreSQL: ${postmaster?.status ?? 'no sign yet'} for ${Math.round((now - began) / 1000)} s`);
      reportAt = now + reportEveryMs;
    }
    const end = await Promise.race([server.exited, delay(pollMs, null)]);
    if (end !== null) throw new EmbeddedPostgresError('START_FAILED', `PostgreSQL ended while starting (${end}).`);
  }
}

/** The file may still be that of the server before, until the new one has replaced it. */
async function readOwnPostmaster(dataDirectory: string, pid: number) {
  const postmaster = await findPostmaster(dataDirectory);
  return postmaster?.pid === pid ? postmaster : null;
}

/** True for PostgreSQL's refusals to start that pass when the remains of the server before are gone. */
export function isHeldByRemains(error: unknown): boolean {
  return (
    error instanceof EmbeddedPostgresError &&
    /pre-existing shared memory block|lock file ".*" already exists/.test(error.message)
  );
}
