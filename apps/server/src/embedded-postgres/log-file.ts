import { constants } from 'node:fs';
import { type FileHandle, open, readFile, rename, stat } from 'node:fs/promises';
import { codeOf } from './error.ts';

const logBytesMax = 10_000_000;
const tailLines = 8;

/** Where the server writes its log: beside the data directory. */
export function logPathOf(dataDirectory: string): string {
  return `${dataDirectory}.log`;
}

/**
 * Opens the log for appending. It is a file and not a pipe to us: the server outlives a killed Tiba, and writing into a
 * pipe that nobody reads would block or kill it. A long log is put aside, once.
 */
export async function openLog(path: string): Promise<FileHandle> {
  if ((await sizeOf(path)) > logBytesMax) await rename(path, `${path}.1`);
  // No link is followed: as root, Tiba may be writing into a directory of somebody else.
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  return open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
}

export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0;
    throw error;
  }
}

/** The last lines that were written after `offset` (bytes). */
export async function tailOf(path: string, offset: number): Promise<string> {
  const written = (await readFile(path)).subarray(offset).toString('utf8');
  return written.trimEnd().split('\n').slice(-tailLines).join('\n');
}
