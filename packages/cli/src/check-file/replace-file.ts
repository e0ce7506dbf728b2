import { open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';

const SUFFIX = '.tiba-tmp';

/**
 * Replaces a file as a whole, readable for this user only: a reader, or a power loss, finds the former content or the
 * new one.
 */
export async function replaceFile(file: string, chunks: Iterable<string>): Promise<void> {
  const temporary = `${file}.${process.pid}${SUFFIX}`;
  try {
    const handle = await open(temporary, 'w', 0o600);
    try {
      for (const chunk of chunks) await handle.write(chunk);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectory(path.dirname(file));
}

/** The new name is on the disk when its folder is. Windows has no such call, and writes folders by itself. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Removes what killed processes have left of a file. What a running process is writing stays. */
export async function removeLeftovers(file: string): Promise<void> {
  const directory = path.dirname(file);
  const base = `${path.basename(file)}.`;
  for (const name of await readdir(directory)) {
    const pid = name.startsWith(base) && name.endsWith(SUFFIX) ? name.slice(base.length, -SUFFIX.length) : '';
    if (/^\d+$/.test(pid) && !isRunning(Number(pid))) await rm(path.join(directory, name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
