import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { FileCost } from './support/file-costs.ts';

const LISTED = 15;

/**
 * The processor time of a run of all tests, and the files that took most of it (support/file-costs.ts). `postgresMs` is
 * that of the PostgreSQL that they share.
 */
export async function describeCosts(directory: string, postgresMs: number): Promise<string> {
  const names = await readdir(directory);
  const costs = await Promise.all(
    names.map(async (name) => JSON.parse(await readFile(path.join(directory, name), 'utf8')) as FileCost),
  );
  const secondsOf = ({ ownMs, childrenMs }: FileCost): number => (ownMs + childrenMs) / 1000;
  const total = costs.reduce((sum, cost) => sum + secondsOf(cost), 0);
  const dearest = costs.toSorted((one, other) => secondsOf(other) - secondsOf(one)).slice(0, LISTED);
  const lines = dearest.map(
    (cost) => `${secondsOf(cost).toFixed(1).padStart(8)}  ${cost.file.slice(cost.file.lastIndexOf('/test/') + 1)}`,
  );
  return [
    `processor time: ${(postgresMs / 1000).toFixed(0)} s of the shared PostgreSQL, ${total.toFixed(0)} s of ` +
      `${costs.length} files; of these the dearest, in seconds:`,
    ...lines,
  ].join('\n');
}
