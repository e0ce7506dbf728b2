import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * One core for the server under test and another for everything else, so that neither takes CPU time from the other.
 */
export interface Cores {
  readonly server: number;
  readonly others: number;
}

const run = promisify(execFile);

/**
 * Pins this process, and every process that it starts later, to the second core that it may use.
 * Resolves to null where that is impossible: fewer than two cores, or no `taskset` (util-linux).
 */
export async function pinToCores(): Promise<Cores | null> {
  const [server, others] = await allowedCores();
  if (server === undefined || others === undefined) return null;
  try {
    await run('taskset', ['--all-tasks', '--cpu-list', '--pid', String(others), String(process.pid)]);
    return { server, others };
  } catch {
    return null;
  }
}

/**
 * The command that runs a program on the server's core. `taskset` replaces itself with the program and keeps its PID.
 */
export function onServerCore(cores: Cores | null, file: string, args: readonly string[]): [string, string[]] {
  return cores === null ? [file, [...args]] : ['taskset', ['--cpu-list', String(cores.server), file, ...args]];
}

/** Lets processes of others, such as PostgreSQL's, use the server's core too: for work during which nothing is measured. */
export async function letUseBothCores(cores: Cores | null, pids: readonly number[]): Promise<void> {
  if (cores === null) return;
  const list = `${cores.server},${cores.others}`;
  await Promise.all(pids.map((pid) => run('taskset', ['--all-tasks', '--cpu-list', '--pid', list, String(pid)])));
}

/** Parses a list such as `0-3,8` (proc(5), Cpus_allowed_list of status). */
async function allowedCores(): Promise<number[]> {
  const status = await readFile('/proc/self/status', 'utf8');
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? '';
  return list.split(',').flatMap((range) => {
    const [first = Number.NaN, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
