import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { FileCost } from './support/run-files.ts';

const LISTED = 15;

/**
 * The processor time of a run of all tests, and the files that took most of it (support/run-files.ts). `postgresMs` is
 * that of the PostgreSQL that they share.
 */
export async function describeCosts(directory: string, postgresMs: number): Promise<string> {
  const names = await readdir(directory);
  const costs = await Promise.all(
    names.map(async (name) => JSON.parse(await readFile(path.join(directory, name), 'utf8')) as FileCost[]),
  ).then((each) => each.flat());
  const totalMs = costs.reduce((sum, cost) => sum + cost.processorMs, 0);
  const mostExpensive = costs.toSorted((one, other) => other.processorMs - one.processorMs).slice(0, LISTED);
  return [
    `processor time: ${seconds(postgresMs, 0)} s of the shared PostgreSQL, ${seconds(totalMs, 0)} s of ` +
      `${costs.length} files in ${names.length} processes; of these the most expensive, in seconds:`,
    ...mostExpensive.map(({ file, processorMs }) => `${seconds(processorMs, 1).padStart(8)}  ${file}`),
  ].join('\n');
}

const seconds = (milliseconds: number, decimals: number): string => (milliseconds / 1000).toFixed(decimals);
