import { readdir, readFile } from 'node:fs/promises';

/**
 * The unit of the times in /proc. It is fixed for programs, whatever the kernel's own clock rate (proc(5), USER_HZ).
 */
const TICKS_PER_SECOND = 100;

/** User and system time that a process has used so far, all threads together. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The program's name is in parentheses and may contain anything; the third field follows it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [userTicks, systemTicks] = fields.slice(11, 13).map(Number);
  if (userTicks === undefined || systemTicks === undefined) throw new Error(`/proc/${pid}/stat has an unknown format`);
  return (userTicks + systemTicks) / TICKS_PER_SECOND;
}

/**
 * Time that a process has spent on a processor so far, all threads together, in microseconds. Exact, where `cpuSeconds`
 * counts ticks of 10 ms (Documentation/scheduler/sched-stats.rst of the kernel).
 */
export async function cpuMicroseconds(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const texts = await Promise.all(
    // A thread may end between the two reads.
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')),
  );
  return texts.reduce((sum, text) => sum + Number(text.split(' ', 1)[0]) / 1_000, 0);
}

/** Resident memory of a process, in KiB (proc(5), VmRSS of status). */
export async function residentKib(pid: number): Promise<number> {
  return numberIn(await readFile(`/proc/${pid}/status`, 'utf8'), /^VmRSS:\s*(\d+) kB$/m);
}

/** How many files and connections a process may have open. Node raises its limit as far as it is allowed to. */
export async function openFilesMax(pid: number): Promise<number> {
  return numberIn(await readFile(`/proc/${pid}/limits`, 'utf8'), /^Max open files\s+(\d+)/m);
}

function numberIn(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`/proc has an unknown format: nothing matches ${pattern}`);
  return Number(found);
}
