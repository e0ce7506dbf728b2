import { readFile } from 'node:fs/promises';

/** The unit of the times in /proc is fixed for programs, whatever the kernel's own clock does (proc(5), USER_HZ). */
const TICKS_PER_SECOND = 100;

/** User and system time that a process has used so far, all its threads together. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name of the program stands in parentheses and may hold anything; what follows begins with the third field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [userTicks, systemTicks] = fields.slice(11, 13).map(Number);
  if (userTicks === undefined || systemTicks === undefined) throw new Error(`/proc/${pid}/stat is not understood`);
  return (userTicks + systemTicks) / TICKS_PER_SECOND;
}
