import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, open, readFile, rename, stat } from 'node:fs/promises';
import { within } from '../lib/within.ts';
import { codeOf, EmbeddedPostgresError } from './error.ts';
import type { Command } from './launcher.ts';
import { findPostmaster, stopPostmaster } from './postmaster.ts';

export interface Server {
  readonly pid: number;
  /** Resolves with a description when the process has exited, for any reason; never rejects. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}

const pollMs = 4;
const readyTimeoutMs = 60_000;
const reportIntervalMs = 10_000;

/** Starts the server and waits until it accepts connections. */
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
      // In a session of its own: Ctrl-C in the terminal must not end it before Tiba has finished its work.
      detached: true,
    });
    // Listens before anything is awaited: a server that cannot start exits within milliseconds.
    const exited = exitOf(child);
    await once(child, 'spawn');
    server = createServer(child, exited);
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

function exitOf(child: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  return promise;
}

function createServer(child: ChildProcess, exited: Promise<string>): Server {
  const { pid } = child;
  if (pid === undefined) throw new Error('a spawned process has no id');
  // When Tiba exits without stopping the server (an uncaught error), it takes the server with it. It cannot wait for
  // it.
  const endWithProcess = () => child.kill('SIGINT');
  process.on('exit', endWithProcess);
  void exited.then(() => process.removeListener('exit', endWithProcess));
  const ended = exited.then(() => true);
  const hasEnded = (waitMs: number): Promise<boolean> => within(ended, waitMs, false);
  const stop = async () => {
    if (!(await stopPostmaster(pid, hasEnded))) throw new Error(`PostgreSQL (process ${pid}) does not exit`);
  };
  let stopping: Promise<void> | null = null;
  return { pid, exited, stop: () => (stopping ??= stop()) };
}

/**
 * Recovery after a crash can take any time, so the timeout applies only while the server does not report `starting`.
 */
async function waitUntilReady(server: Server, dataDirectory: string, log: (line: string) => void): Promise<void> {
  const startedMs = performance.now();
  let nextReportMs = startedMs + reportIntervalMs;
  for (;;) {
    const postmaster = await readOwnPostmaster(dataDirectory, server.pid);
    if (postmaster?.status === 'ready') return;
    const now = performance.now();
    if (postmaster?.status !== 'starting' && now - startedMs > readyTimeoutMs) {
      throw new EmbeddedPostgresError('START_FAILED', `PostgreSQL was not ready within ${readyTimeoutMs / 1000} s.`);
    }
    if (now > nextReportMs) {
      const seconds = Math.round((now - startedMs) / 1000);
      log(`waiting for PostgreSQL: ${postmaster?.status ?? 'no status yet'} for ${seconds} s`);
      nextReportMs = now + reportIntervalMs;
    }
    const end = await within(server.exited, pollMs, null);
    if (end !== null) throw new EmbeddedPostgresError('START_FAILED', `PostgreSQL exited while starting (${end}).`);
  }
}

/** The file may still be that of the previous server, until the new one has replaced it. */
async function readOwnPostmaster(dataDirectory: string, pid: number) {
  const postmaster = await findPostmaster(dataDirectory);
  return postmaster?.pid === pid ? postmaster : null;
}

/** True for start errors of PostgreSQL that disappear when the processes of the previous server have exited. */
export function isBlockedByLeftovers(error: unknown): boolean {
  return (
    error instanceof EmbeddedPostgresError &&
    /pre-existing shared memory block|lock file ".*" already exists/.test(error.message)
  );
}

const logBytesMax = 10_000_000;
const tailLines = 8;

/** The server's log: a file next to the data directory. */
export function logPathOf(dataDirectory: string): string {
  return `${dataDirectory}.log`;
}

/**
 * Opens the log for appending. It is a file and not a pipe to Tiba: the server outlives a killed Tiba, and writing to a
 * pipe without a reader would block or kill it. A log over the maximum is renamed; one old log is kept.
 */
async function openLog(path: string): Promise<FileHandle> {
  if ((await sizeOf(path)) > logBytesMax) await rename(path, `${path}.1`);
  // No link is followed: as root, Tiba may write into another user's directory.
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  return open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0;
    throw error;
  }
}

/** The last lines written after `offset` (bytes). */
async function tailOf(path: string, offset: number): Promise<string> {
  const written = (await readFile(path)).subarray(offset).toString('utf8');
  return written.trimEnd().split('\n').slice(-tailLines).join('\n');
}
