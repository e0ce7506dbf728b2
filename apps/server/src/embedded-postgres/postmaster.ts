import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { codeOf } from './error.ts';

/** The content of `postmaster.pid`, which a running or killed server wrote. */
export interface Postmaster {
  readonly pid: number;
  readonly socketDirectory: string | null;
  /** `starting`, `ready`, `stopping` or `standby`; null until the server writes it. */
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
  // Signals are sent to this number, and 0, 1 and negative ones would reach other processes too.
  if (!Number.isSafeInteger(pid) || pid <= 1) return null;
  return { pid, socketDirectory: lines[4] || null, status: lines[7] || null };
}

/**
 * True if this process is a PostgreSQL of this data directory (real path), and not one that was given the id of a dead
 * server. PostgreSQL's working directory is its data directory, which Linux shows to users who may trace the process.
 * In a container root may not; then, as on other systems, the command line decides: it contains the server's name.
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

/** Sends a signal to a process that may have exited in the meantime. */
export function sendSignal(signal: NodeJS.Signals, pid: number): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

// Fast shutdown ends connections and writes a checkpoint. Immediate shutdown leaves that to the recovery at the next
// start, and the postmaster itself kills the processes that have not exited after 5 s. SIGKILL is for a stuck
// postmaster. https://www.postgresql.org/docs/18/server-shutdown.html
const stopSteps = [
  { signal: 'SIGINT', waitMs: 8_000 },
  { signal: 'SIGQUIT', waitMs: 6_500 },
  { signal: 'SIGKILL', waitMs: 2_000 },
] as const;

/**
 * Shuts a server down, with a stronger signal each time. `hasEnded` waits at most `waitMs` and returns whether the
 * server has exited. Returns false if it is still running at the end.
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
 * A short name derived from a data directory (its real path). It is in the title of every process of the server and in
 * the name of its socket directory, so that the leftovers of a killed Tiba can be recognized.
 */
export function serverNameOf(dataDirectory: string): string {
  return `tiba-postgres-${createHash('sha256').update(dataDirectory).digest('hex').slice(0, 12)}`;
}
