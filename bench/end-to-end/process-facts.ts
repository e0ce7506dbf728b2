import { readFile } from 'node:fs/promises';

/** Memory of a process that is in RAM, in KiB (proc(5), VmRSS of status). */
export async function residentKib(pid: number): Promise<number> {
  return numberIn(await readFile(`/proc/${pid}/status`, 'utf8'), /^VmRSS:\s*(\d+) kB$/m);
}

/** How many files and connections a process may have open. Node raises this by itself as far as it is allowed to. */
export async function openFilesMax(pid: number): Promise<number> {
  return numberIn(await readFile(`/proc/${pid}/limits`, 'utf8'), /^Max open files\s+(\d+)/m);
}

function numberIn(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error('/proc is not understood');
  return Number(found);
}
