import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** Processor time and memory of processes, from proc(5). Unknown on systems without it. */

/** Ticks per second in proc(5), `sysconf(_SC_CLK_TCK)`: 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Processor time so far of these processes and their children, in milliseconds; null if unknown. */
export async function processorTimeMs(pids: readonly number[]): Promise<number | null> {
  let ticks: number | null = null;
  for (const name of await readdir('/proc').catch(() => [])) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') : '';
    // The program's name, in parentheses, may contain any character: fields are counted after it.
    const [, parent = '', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (!pids.includes(Number(name)) && !pids.includes(Number(parent))) continue;
    ticks = (ticks ?? 0) + Number(fields[9]) + Number(fields[10]);
  }
  return ticks === null ? null : (ticks / TICKS_PER_SECOND) * 1_000;
}

/** Resident memory of a process in MiB, every 50 ms until stopped; empty if unknown. */
export function sampleMemory(pid: number): { stop(): Promise<number[]> } {
  const stopping = new AbortController();
  const sampling = (async () => {
    const samples: number[] = [];
    while (!stopping.signal.aborted) {
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
      const kibibytes = /^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1];
      if (kibibytes !== undefined) samples.push(Math.round(Number(kibibytes) / 1024));
      await delay(50, null, { signal: stopping.signal }).catch(() => {});
    }
    return samples;
  })();
  return {
    stop() {
      stopping.abort();
      return sampling;
    },
  };
}
