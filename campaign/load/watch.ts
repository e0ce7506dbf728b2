import { readFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';

export interface WatchOptions {
  readonly seconds: number;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
  /** Begins the lines of progress. */
  readonly name: string;
}

const SAMPLE_MS = 200;
const PROGRESS_MS = 10_000;

/** Watches a process for a time; ends early when it ends. Resolves with the most memory that it had, in MiB. */
export async function watchMemory(pid: number, { seconds, signal, print, name }: WatchOptions): Promise<number> {
  const startMs = performance.now();
  let peak = 0;
  let printedMs = startMs;
  for (;;) {
    const resident = await residentMib(pid);
    if (resident === null) return peak;
    peak = Math.max(peak, resident);
    const nowMs = performance.now();
    if (nowMs - startMs >= seconds * 1_000) return peak;
    if (nowMs - printedMs >= PROGRESS_MS) {
      print(`${name}: ${Math.round((nowMs - startMs) / 1_000)} s of ${seconds}, ${Math.round(resident)} MiB`);
      printedMs = nowMs;
    }
    await wait(SAMPLE_MS, null, { signal });
  }
}

/** Resident memory of a process in MiB; null when it has ended. */
export async function residentMib(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  // A process that has ended and was not waited for has no such line.
  const kib = /^VmRSS:\s*(\d+)/m.exec(status)?.[1];
  return kib === undefined ? null : Number(kib) / 1_024;
}

/** Beside each figure: other load on the machine delays every answer. */
export const machineLoad = (): string => `load ${(loadavg()[0] ?? 0).toFixed(1)}`;
