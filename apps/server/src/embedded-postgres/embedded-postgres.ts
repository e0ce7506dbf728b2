import { access, mkdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findBinaries } from './binaries.ts';
import { codeOf } from './error.ts';
import { initialize } from './initialize.ts';
import { type Command, chooseLauncher } from './launcher.ts';
import { killOrphans, stopLeftoverServer } from './leftover.ts';
import { type DataDirectoryLock, lockDataDirectory } from './lock.ts';
import { findPostmaster, isServerOf, serverNameOf } from './postmaster.ts';
import { isBlockedByLeftovers, logPathOf, type Server, startServer } from './server.ts';
import { chooseServerUser, chownDataDirectory } from './server-user.ts';
import { settingsOf } from './settings.ts';
import {
  chooseSocketBase,
  connectionStringOf,
  ensureDatabase,
  makeSocketDirectory,
  type SocketDirectory,
} from './socket.ts';

export { EmbeddedPostgresError } from './error.ts';

export interface EmbeddedPostgresOptions {
  /** The directory of the database's files, such as `.tiba/postgres`. The log and the lock are files next to it. */
  readonly dataDirectory: string;
  /** Gets one line of English for each step of the server; the server's own log is a file. */
  readonly log?: (line: string) => void;
  /** Gets the lines about what should not happen; by default `log`. */
  readonly warn?: (line: string) => void;
  /** False is faster and loses data in a power cut: for tests. */
  readonly durable?: boolean;
  /** PostgreSQL's `shared_buffers`; by default an eighth of the memory, at most 1 GB. */
  readonly sharedBuffersMb?: number;
}

export interface EmbeddedPostgres {
  /** Connects to the database `tiba`, as its superuser `tiba`, over a Unix socket. */
  readonly connectionString: string;
  /** The process id of the current server. One that exits by itself is restarted with the same connection string. */
  readonly pid: number;
  readonly logPath: string;
  /** Resolves with a description when the server has exited and is not restarted; never rejects. */
  readonly exited: Promise<string>;
  /** Ends open connections, so close the pools first. Repeated calls return the same promise. */
  stop(): Promise<void>;
}

// How long the remaining processes of a killed server may delay the start of the next one.
const leftoverTimeoutMs = 15_000;
const leftoverPollMs = 100;
// The minimum time between two starts of a server that exits by itself.
const restartIntervalMs = 1_000;

/**
 * Starts Tiba's own PostgreSQL on a data directory, which is created if it does not exist.
 * @throws EmbeddedPostgresError when another Tiba runs on it (IN_USE), or this machine or this user cannot run it
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { durable = true, sharedBuffersMb, log = () => {}, warn = log } = options;
  const binaries = await findBinaries();
  const dataDirectory = await findRealPath(options.dataDirectory);
  const lock = lockDataDirectory(dataDirectory);
  try {
    const user = await chooseServerUser(dataDirectory);
    const socketBase = await chooseSocketBase(dataDirectory, user);
    const launcher = await chooseLauncher(user, binaries, [dirname(dataDirectory), socketBase]);
    await initialize({ dataDirectory, binaries, launcher, user, durable, log });
    await chownDataDirectory(dataDirectory, user);
    const socket = await makeSocketDirectory(socketBase, dataDirectory, user, launcher.passesClosedDirectories);
    const starting: StartContext = {
      dataDirectory,
      socket,
      command: launcher.command(binaries.postgres, [
        '-D',
        dataDirectory,
        ...settingsOf({
          serverName: serverNameOf(dataDirectory),
          socketDirectory: socket.path,
          durable,
          sharedBuffersMb,
        }),
      ]),
      log,
      warn,
    };
    const server = await startWithRetries(starting).catch(async (error: unknown) => {
      await socket.remove();
      throw error;
    });
    return superviseServer(server, starting, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * The connection string of the server that runs on this data directory now, no matter which process started it, or
 * null.
 */
export async function findRunningPostgres(givenDataDirectory: string): Promise<string | null> {
  const dataDirectory = await findRealPath(givenDataDirectory);
  const postmaster = await findPostmaster(dataDirectory).catch(() => null);
  if (postmaster === null || postmaster.socketDirectory === null) return null;
  return (await isServerOf(dataDirectory, postmaster.pid)) ? connectionStringOf(postmaster.socketDirectory) : null;
}

/**
 * Whether there is a database to start. A directory that this user may not read counts as one: starting it then reports
 * the reason.
 */
export const hasDatabase = (dataDirectory: string): Promise<boolean> =>
  access(join(dataDirectory, 'PG_VERSION')).then(
    () => true,
    (error: unknown) => codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR',
  );

/** The real path: the kernel reports processes by it, and all processes must use the same name for the lock. */
async function findRealPath(path: string): Promise<string> {
  const given = resolve(path);
  await mkdir(dirname(given), { recursive: true });
  try {
    return await realpath(given);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return join(await realpath(dirname(given)), basename(given));
  }
}

interface StartContext {
  readonly dataDirectory: string;
  readonly socket: SocketDirectory;
  readonly command: Command;
  readonly log: (line: string) => void;
  readonly warn: (line: string) => void;
}

/** Starts the server; retries while processes of a killed server block the start. */
async function startWithRetries({ dataDirectory, socket, command, log }: StartContext): Promise<Server> {
  const deadline = performance.now() + leftoverTimeoutMs;
  let isWaiting = false;
  for (;;) {
    const reusedPid = await stopLeftoverServer(dataDirectory, socket.path, log);
    await socket.clear();
    try {
      const server = await startServer(ignoreProcess(command, reusedPid), dataDirectory, log);
      await ensureDatabase(socket.path).catch(async (error: unknown) => {
        await server.stop();
        throw error;
      });
      return server;
    } catch (error) {
      if (!isBlockedByLeftovers(error) || performance.now() > deadline) throw error;
      if (!isWaiting) log('waiting for the processes of a killed PostgreSQL to exit');
      isWaiting = true;
      await killOrphans(dataDirectory);
      await delay(leftoverPollMs);
    }
  }
}

/**
 * PostgreSQL does not start while any process of its user has the id in an old `postmaster.pid`. This variable, meant
 * for pg_ctl, names one process to ignore (CreateLockFile in src/backend/utils/init/miscinit.c). Removing the file
 * instead would also remove the check that no process of the old server still writes.
 */
function ignoreProcess(command: Command, reusedPid: number | null): Command {
  if (reusedPid === null) return command;
  const env = { ...command.options.env, PG_GRANDPARENT_PID: String(reusedPid) };
  return { ...command, options: { ...command.options, env } };
}

/**
 * Restarts the server whenever it exits by itself, for example when the kernel kills it for lack of memory. The
 * connection string stays the same.
 */
function superviseServer(first: Server, starting: StartContext, lock: DataDirectoryLock): EmbeddedPostgres {
  const { dataDirectory, socket, log, warn } = starting;
  const logPath = logPathOf(dataDirectory);
  const stopRequested = new AbortController();
  let server = first;
  let stopping: Promise<void> | null = null;

  /** Null when a stop was requested meanwhile. */
  async function restart(): Promise<Server | null> {
    while (!stopRequested.signal.aborted) {
      try {
        const next = await startWithRetries(starting);
        log(`PostgreSQL was restarted (process ${next.pid})`);
        return next;
      } catch (error) {
        warn(`restarting PostgreSQL failed; will retry: ${String(error)}`);
        await delay(restartIntervalMs, null, { signal: stopRequested.signal }).catch(() => {});
      }
    }
    return null;
  }

  async function watch(): Promise<string> {
    for (;;) {
      const startedMs = performance.now();
      const description = await server.exited;
      if (stopping !== null) return description;
      warn(
        `PostgreSQL (process ${server.pid}) exited unexpectedly (${description}); restarting it. Its log: ${logPath}`,
      );
      await delay(Math.max(startedMs + restartIntervalMs - performance.now(), 0), null, {
        signal: stopRequested.signal,
      }).catch(() => {});
      const next = await restart();
      if (next === null) return description;
      server = next;
      // A stop that came meanwhile stopped the previous server, not this one.
      if (stopping !== null) await server.stop();
    }
  }

  const exited = watch();
  const stop = async () => {
    stopRequested.abort();
    await server.stop();
    await exited;
    await socket.remove();
    lock.release();
  };
  return {
    connectionString: connectionStringOf(socket.path),
    get pid() {
      return server.pid;
    },
    logPath,
    exited,
    stop: () => (stopping ??= stop()),
  };
}
