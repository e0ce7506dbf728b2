import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client, type QueryResultRow } from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../apps/server/src/embedded-postgres/embedded-postgres.ts';
import { findPostmaster, isServerOf } from '../../apps/server/src/embedded-postgres/postmaster.ts';
import { removeLeftoverSocketDirectories } from '../../apps/server/src/embedded-postgres/socket.ts';
import { eventually } from '../support/eventually.ts';

const servicePath = fileURLToPath(new URL('service-process.ts', import.meta.url));

/** A test's data directory, and the cleanups of everything that the test started there. */
export interface TestDirectory {
  readonly dataDirectory: string;
  /** Run after the test, the last one first. */
  readonly cleanups: (() => Promise<unknown>)[];
}

/** Creates a directory for a test. After the test no process and no file of it is left, whether it passed or not. */
export async function useTestDirectory(t: TestContext, parentMode = 0o755): Promise<TestDirectory> {
  const parent = await mkdtemp(join(await realpath(tmpdir()), 'tiba-test-'));
  await chmod(parent, parentMode);
  const dataDirectory = join(parent, 'postgres');
  const cleanups = [
    () => rm(parent, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }),
    () => removeLeftoverSocketDirectories(dataDirectory, null),
    () => killServer(dataDirectory),
  ];
  t.after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });
  return { dataDirectory, cleanups };
}

/** The same with an initialized data directory: a copy of `template`. */
export async function useInitializedDirectory(t: TestContext, template: string): Promise<TestDirectory> {
  const testDirectory = await useTestDirectory(t);
  await cp(template, testDirectory.dataDirectory, { recursive: true });
  return testDirectory;
}

/** Starts PostgreSQL from this process; stops it after the test at the latest. */
export async function start(
  { dataDirectory, cleanups }: TestDirectory,
  log: (line: string) => void = () => {},
  warn = log,
): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDirectory, log, warn, durable: false });
  cleanups.push(() => server.stop());
  return server;
}

interface StartReport {
  readonly pid: number;
  readonly connectionString: string;
  readonly code?: string;
}

export interface Service {
  readonly child: ChildProcess;
  /** The line that service-process.ts printed. */
  readonly started: Promise<StartReport>;
  /** Sends a signal, by default SIGKILL; resolves when the process has exited. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts PostgreSQL from a child process, which is killed after the test at the latest. */
export function startService(
  { dataDirectory, cleanups }: TestDirectory,
  user: { uid?: number; gid?: number } = {},
): Service {
  const child = spawn(process.execPath, [servicePath, dataDirectory], {
    ...user,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const end = async (signal: NodeJS.Signals = 'SIGKILL') => {
    child.kill(signal);
    await exited;
  };
  cleanups.push(() => end());
  return { child, started: readReport(child), end };
}

async function readReport(child: ChildProcess): Promise<StartReport> {
  assert(child.stdout);
  for await (const line of createInterface(child.stdout)) return JSON.parse(line);
  return { pid: 0, connectionString: '', code: 'KILLED' };
}

export async function query<Row extends QueryResultRow>(connectionString: string, text: string): Promise<Row[]> {
  const client = await connect(connectionString, 'test');
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

export async function connect(connectionString: string, applicationName: string): Promise<Client> {
  const client = new Client({ connectionString, application_name: applicationName });
  client.on('error', () => {});
  await client.connect();
  return client;
}

export const until = (what: string, condition: () => Promise<boolean>): Promise<void> =>
  eventually(what, condition, 10_000);

export function socketDirectoryOf(connectionString: string): string {
  return decodeURIComponent(/host=([^&]+)/.exec(connectionString)?.[1] ?? '');
}

/** The files next to the data directory, where leftovers would be. */
export function listBeside(dataDirectory: string): Promise<string[]> {
  return readdir(join(dataDirectory, '..'));
}

async function killServer(dataDirectory: string): Promise<void> {
  const postmaster = await findPostmaster(dataDirectory);
  if (postmaster === null || !(await isServerOf(dataDirectory, postmaster.pid))) return;
  process.kill(postmaster.pid, 'SIGKILL');
  await until('the server ends', async () => !(await isServerOf(dataDirectory, postmaster.pid)));
}
