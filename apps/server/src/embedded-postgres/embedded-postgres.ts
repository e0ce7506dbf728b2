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
  /** The folder of the database's files, such as `.tiba/postgres`. Its log and its lock are put beside it. */
  readonly dataDirectory: string;
  /** Told in English what happens to the server; the server's own log is a file. */
  readonly log?: (line: string) => void;
  /** Told of what should not happen; `log` when absent. */
  readonly warn?: (line: string) => void;
  /** False gives up surviving a power cut for speed: for tests. */
  readonly durable?: boolean;
}

export interface EmbeddedPostgres {
  /** To the database `tiba`, as its superuser `tiba`, over a Unix socket. */
  readonly connectionString: string;
  /** Of the server that runs now: one that ends by itself is started again, and reached as before. */
  readonly pid: number;
  readonly logPath: string;
  /** Fulfils with a description when the server has ended and is not started again; never rejects. */
  readonly exited: Promise<string>;
  /** Ends open connections, so close pools before. Any number of calls are one stop. */
  stop(): Promise<void>;
}

// For how long the processes of a killed server may hold up the next one.
const leftoverTimeoutMs = 15_000;
const leftoverPollMs = 100;
// Between two starts of a server that ends by itself, at least.
const restartIntervalMs = 1_000;

/**
 * Starts a PostgreSQL of our own on a data directory, which is made if there is none. Throws EmbeddedPostgresError when
 * another Tiba runs on it (IN_USE), and when this machine or this user cannot run it.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { durable = true, log = () => {}, warn = log } = options;
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
        ...settingsOf(serverNameOf(dataDirectory), socket.path, durable),
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

/** How to connect to the server that runs on this data directory now, whoever started it; null when none does. */
export async function findRunningPostgres(givenDataDirectory: string): Promise<string | null> {
  const dataDirectory = await findRealPath(givenDataDirectory);
  const postmaster = await findPostmaster(dataDirectory).catch(() => null);
  if (postmaster === null || postmaster.socketDirectory === null) return null;
  return (await isServerOf(dataDirectory, postmaster.pid)) ? connectionStringOf(postmaster.socketDirectory) : null;
}

/** Whether there is a database to start. What this user may not look at counts as one: starting it then says why not. */
export const hasDatabase = (dataDirectory: string): Promise<boolean> =>
  access(join(dataDirectory, 'PG_VERSION')).then(
    () => true,
    (error: unknown) => codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR',
  );

/** The real path, because the kernel's words about processes and the names of locks must agree on it. */
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

/** Starts the server, again if need be, until the remains of a killed one no longer hold it up. */
async function startWithRetries({ dataDirectory, socket, command, log }: StartContext): Promise<Server> {
  const deadline = performance.now() + leftoverTimeoutMs;
  let isWaiting = false;
  for (;;) {
    const takenPid = await stopLeftoverServer(dataDirectory, socket.path, log);
    await socket.clear();
    try {
      const server = await startServer(ignoreProcess(command, takenPid), dataDirectory, log);
      await ensureDatabase(socket.path).catch(async (error: unknown) => {
        await server.stop();
        throw error;
      });
      return server;
    } catch (error) {
      if (!isBlockedByLeftovers(error) || performance.now() > deadline) throw error;
      if (!isWaiting) log('waiting for the processes of a killed PostgreSQL to end');
      isWaiting = true;
      await killOrphans(dataDirectory);
      await delay(leftoverPollMs);
    }
  }
}

/**
 * PostgreSQL does not start while any process of its user has the id in an old `postmaster.pid`. This variable, meant
 * for pg_ctl, names one process that does not count (CreateLockFile in src/backend/utils/init/miscinit.c). Removing
 * the file instead would also remove the check that no process of the old server still writes.
 */
function ignoreProcess(command: Command, takenPid: number | null): Command {
  if (takenPid === null) return command;
  const env = { ...command.options.env, PG_GRANDPARENT_PID: String(takenPid) };
  return { ...command, options: { ...command.options, env } };
}

/** Starts it again whenever it ends by itself: killed for want of memory, say. The way to it stays the same. */
function superviseServer(first: Server, starting: StartContext, lock: DataDirectoryLock): EmbeddedPostgres {
  const { dataDirectory, socket, warn } = starting;
  const logPath = logPathOf(dataDirectory);
  const stopRequested = new AbortController();
  let server = first;
  let stopping: Promise<void> | null = null;

  /** Null when it is to be stopped. */
  async function restart(): Promise<Server | null> {
    while (!stopRequested.signal.aborted) {
      try {
        const next = await startWithRetries(starting);
        warn(`PostgreSQL runs again (process ${next.pid})`);
        return next;
      } catch (error) {
        warn(`PostgreSQL cannot be started again, and it is tried on: ${String(error)}`);
        await delay(restartIntervalMs, null, { signal: stopRequested.signal }).catch(() => {});
      }
    }
    return null;
  }

  async function watch(): Promise<string> {
    for (;;) {
      const startedMs = performance.now();
      const how = await server.exited;
      if (stopping !== null) return how;
      warn(`PostgreSQL (process ${server.pid}) ended by itself (${how}) and is started again; its log is ${logPath}`);
      await delay(Math.max(startedMs + restartIntervalMs - performance.now(), 0), null, {
        signal: stopRequested.signal,
      }).catch(() => {});
      const next = await restart();
      if (next === null) return how;
      server = next;
      // Whoever stops it meanwhile has stopped the one before.
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
