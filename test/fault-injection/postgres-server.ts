import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { findBinaries } from '../../apps/server/src/embedded-postgres/binaries.ts';
import { initialize } from '../../apps/server/src/embedded-postgres/initialize.ts';
import { type Command, chooseLauncher } from '../../apps/server/src/embedded-postgres/launcher.ts';
import { serverNameOf } from '../../apps/server/src/embedded-postgres/postmaster.ts';
import { isBlockedByLeftovers, type Server, startServer } from '../../apps/server/src/embedded-postgres/server.ts';
import { chooseServerUser, chownDataDirectory } from '../../apps/server/src/embedded-postgres/server-user.ts';
import { settingsOf } from '../../apps/server/src/embedded-postgres/settings.ts';
import {
  chooseSocketBase,
  connectionStringOf,
  ensureDatabase,
  makeSocketDirectory,
  port,
} from '../../apps/server/src/embedded-postgres/socket.ts';
import type { TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

/**
 * A PostgreSQL server for fault injection: each test file has its own, and its address stays the same after a restart.
 */
export interface PostgresServer {
  /** For `startTestService`, which must not drop it. */
  readonly database: TestDatabase;
  /** Path of its Unix socket. */
  readonly socketPath: string;
  /** Fast shutdown: connections are closed, and no data is lost. */
  stop(): Promise<void>;
  /** SIGKILL to the postmaster, whose processes end by themselves. `start` then recovers from the crash. */
  kill(): Promise<void>;
  /** Resolves when the server accepts connections; at once when it has not ended. */
  start(): Promise<void>;
  /** SIGSTOP to all its processes: connections stay open, and nothing answers. */
  freeze(): Promise<void>;
  resume(): void;
  /** The process IDs of the postmaster and of the connections of the service. */
  processIds(): Promise<number[]>;
  /** Runs a query as the superuser, on a new connection. */
  query<R extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<R[]>;
  /** Stops the server in whatever state it is, and removes its files. */
  remove(): Promise<void>;
}

export interface PostgresServerOptions {
  /** Settings of the server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether commits wait for the disk. False by default: the data need not survive a power cut. */
  readonly durable?: boolean;
  /** Where its directory is made; the system's directory for temporary files by default. */
  readonly parentDirectory?: string;
}

export async function startPostgresServer(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const { command, directory, dataDirectory, socket } = await createServer(options);
  const connection = { connectionString: connectionStringOf(socket.path) };
  let server: Server | null = null;
  let frozen: readonly number[] = [];

  const start = async (): Promise<void> => {
    if (server !== null) return;
    const started = await startAfterLeftovers(command, dataDirectory);
    server = started;
    // A full disk can end it.
    void started.exited.then(() => {
      if (server === started) server = null;
    });
  };
  const stop = async (): Promise<void> => {
    await server?.stop();
    server = null;
  };
  const kill = async (): Promise<void> => {
    const killed = server;
    server = null;
    if (killed === null) return;
    process.kill(killed.pid, 'SIGKILL');
    await killed.exited;
  };
  const resume = (): void => {
    for (const pid of frozen) continueProcess(pid);
    frozen = [];
  };
  const remove = async (): Promise<void> => {
    resume();
    await stop();
    await socket.remove();
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };
  const query = <R extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<R[]> =>
    withClient(connection, async (client) => (await client.query<R>(sql, values)).rows);

  try {
    await start();
    await ensureDatabase(socket.path);
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    database: { connection, drop: async () => {} },
    socketPath: path.join(socket.path, `.s.PGSQL.${port}`),
    stop,
    kill,
    start,
    async freeze() {
      if (server === null) return;
      frozen = [server.pid];
      frozen = await stopProcesses(connection, server.pid);
      // A process that runs on another processor stops a moment later, and would still answer.
      await eventually('all processes of PostgreSQL are stopped', () => frozen.every(isStopped));
    },
    resume,
    async processIds() {
      const rows = await query<{ pid: number }>("select pid from pg_stat_activity where application_name like 'tiba%'");
      const connections = rows.map((row) => row.pid);
      return server === null ? connections : [server.pid, ...connections];
    },
    query,
    remove,
  };
}

/** Creates the directories of a server, and the command that starts it. */
async function createServer({ settings = {}, durable = false, parentDirectory = tmpdir() }: PostgresServerOptions) {
  const directory = await mkdtemp(path.join(await realpath(parentDirectory), 'tiba-test-'));
  const dataDirectory = path.join(directory, 'postgres');
  const binaries = await findBinaries();
  const user = await chooseServerUser(dataDirectory);
  const socketBase = await chooseSocketBase(dataDirectory, user);
  const launcher = await chooseLauncher(user, binaries, [directory, socketBase]);
  await initialize({ dataDirectory, binaries, launcher, user, durable, log: () => {} });
  await chownDataDirectory(dataDirectory, user);
  const socket = await makeSocketDirectory(socketBase, dataDirectory, user, launcher.passesClosedDirectories);
  const command = launcher.command(binaries.postgres, [
    '-D',
    dataDirectory,
    ...settingsOf({ serverName: serverNameOf(dataDirectory), socketDirectory: socket.path, durable }),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  return { command, directory, dataDirectory, socket };
}

/** Also those that have just started, and that PostgreSQL does not list yet. Known on Linux only. */
function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number) : [];
}

/**
 * True for a process that has ended, and where the system does not say it. One that ends after the postmaster was
 * stopped stays a zombie (Z) until the postmaster continues.
 */
function isStopped(pid: number): boolean {
  const file = `/proc/${pid}/stat`;
  return !existsSync(file) || /\) [TZ] /.test(readFileSync(file, 'utf8'));
}

/** Starts the server as soon as the processes of a killed postmaster have ended. */
async function startAfterLeftovers(command: Command, dataDirectory: string): Promise<Server> {
  for (;;) {
    try {
      return await startServer(command, dataDirectory, () => {});
    } catch (error) {
      if (!isBlockedByLeftovers(error)) throw error;
    }
  }
}

/** SIGSTOP to all processes of the server; returns them. */
async function stopProcesses(connection: pg.ClientConfig, postmaster: number): Promise<number[]> {
  return withClient(connection, async (client) => {
    // The postmaster first: once it is stopped, no process is added to the list that the server returns.
    process.kill(postmaster, 'SIGSTOP');
    const { rows } = await client.query<{ pid: number }>('select pid from pg_stat_activity');
    const all = [...new Set([postmaster, ...rows.map((row) => row.pid), ...childrenOf(postmaster)])];
    for (const each of all) process.kill(each, 'SIGSTOP');
    return all;
  });
}

/**
 * A process that ended just before its SIGSTOP disappears once the postmaster continues. The other processes continue
 * too.
 */
function continueProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

async function withClient<T>(connection: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ ...connection, application_name: 'fault injection' });
  // The injected fault may break this connection, which is part of the test.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    client.end().catch(() => {});
  }
}
