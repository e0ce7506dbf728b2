import { readFileSync } from 'node:fs';

/** Fixed for programs, whatever the kernel's own clock rate (proc(5), USER_HZ). */
const TICK_MS = 10;

/** Processor time of the children of a process that have ended and were waited for; 0 where that is unknown. */
export function childrenMs(pid: number | 'self'): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program's name is in parentheses and may contain anything; the third field follows it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [userTicks = 0, systemTicks = 0] = fields.slice(13, 15).map(Number);
    return (userTicks + systemTicks) * TICK_MS;
  } catch {
    return 0;
  }
}
