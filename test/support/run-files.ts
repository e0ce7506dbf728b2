// What a process of a run of all tests (check.ts) does: it runs some test files.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, suite } from 'node:test';
import { pathToFileURL } from 'node:url';
import { eventually } from './eventually.ts';
import { childrenMs } from './processor-time.ts';
import { COSTS_VARIABLE } from './suite-environment.ts';

/** Ten times as long as the slowest file takes: also enough on a machine that is busy with other work. */
const FILE_MS_MAX = 5 * 60_000;
/** How long connections, timers and child processes may take to end after the tests of a file. */
const RELEASE_MS_MAX = 60_000;

/** What one test file cost: the processor time of the process and of children that were waited for. */
export interface FileCost {
  readonly file: string;
  readonly processorMs: number;
}

/**
 * Runs test files one after the other in this process, each as a suite that has the file's name. All are loaded first:
 * what a file starts while it is loaded, and not in its hooks, is there while the files before it run. A file that
 * leaves something open fails: it would keep the process from ending, and the next file would not run as if it were
 * alone.
 */
export function runTestFiles(files: readonly string[]): void {
  openStandardStreams();
  const costs: FileCost[] = [];
  let countedMs = 0;
  let deadline: NodeJS.Timeout | undefined;
  // All begin to load before the first one runs.
  const loading: Promise<unknown>[] = [];
  for (const file of files) {
    suite(file, { timeout: FILE_MS_MAX }, async () => {
      let open: readonly string[] = [];
      before(async () => {
        clearTimeout(deadline);
        deadline = exitLater(file);
        // What another file starts while it is loaded is not left open by this one.
        await Promise.allSettled(loading);
        open = process.getActiveResourcesInfo();
      });
      const loaded = import(pathToFileURL(path.resolve(file)).href);
      loading.push(loaded);
      await loaded;
      // After the hooks of the file itself, which are older.
      after(async () => {
        // The end of the process shows the same for a file that is alone in it.
        if (files.length > 1) await untilReleased(open, file);
        const totalMs = processorMs();
        costs.push({ file, processorMs: totalMs - countedMs });
        countedMs = totalMs;
      });
    });
  }
  noteAtExit(costs);
}

/** They open when they are first used, and stay open. */
const openStandardStreams = (): readonly unknown[] => [process.stdin, process.stdout, process.stderr];

/** A test that hangs is ended by its timeout, but not a process that cannot end: it would block the run. */
const exitLater = (file: string): NodeJS.Timeout =>
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ');
    process.stderr.write(`the process has not ended long after ${file}; it is ended. Open: ${open}\n`);
    process.exit(1);
  }, FILE_MS_MAX + RELEASE_MS_MAX).unref();

async function untilReleased(earlier: readonly string[], file: string): Promise<void> {
  const isReleased = (): boolean => leftOpen(earlier).length === 0;
  await eventually('nothing is left open', isReleased, RELEASE_MS_MAX).catch((error: unknown) => {
    throw new Error(`${file} leaves open: ${leftOpen(earlier).join(', ')}`, { cause: error });
  });
}

/** The kinds of resources that keep this process from ending and that it did not have before. */
function leftOpen(earlier: readonly string[]): string[] {
  const expected = [...earlier];
  return process.getActiveResourcesInfo().filter((kind) => {
    const index = expected.indexOf(kind);
    if (index !== -1) expected.splice(index, 1);
    return index === -1;
  });
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return Math.round((user + system) / 1000) + childrenMs('self');
}

function noteAtExit(costs: readonly FileCost[]): void {
  const directory = process.env[COSTS_VARIABLE];
  if (directory === undefined) return;
  process.once('exit', () => writeFileSync(path.join(directory, `${process.pid}.json`), JSON.stringify(costs)));
}
