import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { codeOf } from './error.ts';

/** What a running (or killed) server says about itself in `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number;
  readonly socketDirectory: string | null;
  /** `starting`, `ready`, `stopping` or `standby`; null while it is too young to say. */
  readonly status: string | null;
}

/** Reads `postmaster.pid`; its lines are numbered in PostgreSQL's source, src/include/utils/pidfile.h. */
export async function findPostmaster(dataDirectory: string): Promise<Postmaster | null> {
  let text: string;
  try {
    text = await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
  const lines = text.split('\n').map((line) => line.trim());
  const pid = Number(lines[0]);
  // Every signal goes to this number, and 0, 1 and negative ones address more than one server.
  if (!Number.isSafeInteger(pid) || pid <= 1) return null;
  return { pid, socketDirectory: lines[4] || null, status: lines[7] || null };
}

/** True if a process has this id, no matter which, a dead one that nobody has waited for included. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/**
 * True if this process is a PostgreSQL of this data directory (real path), and not one that was given the id of a dead
 * server. PostgreSQL works in its data directory, which Linux shows to whoever may trace the process; in a container
 * root may not, and then, as on other systems, the command line decides: ours has the server's name in it.
 */
export async function isServerOf(dataDirectory: string, pid: number): Promise<boolean> {
  const commandLine = await readCommandLine(pid);
  if (!commandLine.includes('postgres')) return false;
  try {
    return (await readlink(`/proc/${pid}/cwd`)) === dataDirectory;
  } catch {
    return commandLine.includes(serverNameOf(dataDirectory)) || commandLine.includes(dataDirectory);
  }
}

async function readCommandLine(pid: number): Promise<string> {
  try {
    if (process.platform === 'linux') return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
    return (await promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(pid)])).stdout;
  } catch {
    return '';
  }
}

/** Sends a signal to a process that may have ended in the meantime. */
export function sendSignal(signal: NodeJS.Signals, pid: number): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

// Fast shutdown ends connections and writes a checkpoint; immediate shutdown leaves that to the recovery at the next
// start, and the postmaster itself kills what has not ended after 5 s. SIGKILL is for a postmaster that is stuck.
// https://www.postgresql.org/docs/18/server-shutdown.html
const stopSteps = [
  { signal: 'SIGINT', waitMs: 8_000 },
  { signal: 'SIGQUIT', waitMs: 6_500 },
  { signal: 'SIGKILL', waitMs: 2_000 },
] as const;

/**
 * Shuts a server down, ever harder. `hasEnded` waits at most that long and says whether the server is gone.
 * False if it would not go.
 */
export async function stopPostmaster(pid: number, hasEnded: (waitMs: number) => Promise<boolean>): Promise<boolean> {
  for (const { signal, waitMs } of stopSteps) {
    if (await hasEnded(0)) return true;
    sendSignal(signal, pid);
    if (await hasEnded(waitMs)) return true;
  }
  return false;
}

/**
 * A short name that goes with a data directory (its real path). It is in the title of every process of the server and in
 * the name of its socket directory, so what a killed Tiba left can be told from everything else.
 */
export function serverNameOf(dataDirectory: string): string {
  return `tiba-postgres-${createHash('sha256').update(dataDirectory).digest('hex').slice(0, 12)}`;
}
