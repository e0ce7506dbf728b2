import { createHash, randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';

const SUFFIX = '.tiba-tmp';
/** A file is written in seconds. */
const LEFTOVER_AGE_MS = 24 * 60 * 60_000;

/**
 * Replaces a file as a whole, readable for this user only: a reader, or a power loss, finds the former content or the
 * new one.
 */
export async function replaceFile(file: string, chunks: Iterable<string>): Promise<void> {
  // A name that was predictable could be a link that another user of the folder has made: `wx` follows none.
  const temporary = `${file}.${processSpace()}-${process.pid}-${randomUUID()}${SUFFIX}`;
  const handle = await open(temporary, 'wx', 0o600);
  try {
    try {
      // Unlike write(), which writes fewer bytes on a disk that is nearly full, and reports no error.
      for (const chunk of chunks) await handle.writeFile(chunk);
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

/**
 * Removes what killed processes have left of a file. What a running process is writing stays: a process of another
 * machine or container cannot be asked, so its files stay for a day.
 */
export async function removeLeftovers(file: string): Promise<void> {
  const directory = path.dirname(file);
  const base = `${path.basename(file)}.`;
  for (const name of await readdir(directory)) {
    if (!name.startsWith(base) || !name.endsWith(SUFFIX)) continue;
    const [, space, pid] = /^([0-9a-f]{16})-(\d+)-[0-9a-f-]{36}$/.exec(name.slice(base.length, -SUFFIX.length)) ?? [];
    if (pid === undefined) continue;
    const leftover = path.join(directory, name);
    const isLeft = space === processSpace() ? !isRunning(Number(pid)) : await isOld(leftover);
    if (isLeft) await rm(leftover, { force: true });
  }
}

/** The same for processes that see each other: those of one machine, and of one container on it. */
function processSpace(): string {
  return createHash('sha256').update(`${hostname()} ${pidNamespace()}`).digest('hex').slice(0, 16);
}

/** Containers may share the machine's host name. Only Linux has such namespaces: namespaces(7). */
function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

async function isOld(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => null);
  return found !== null && found.mtimeMs < Date.now() - LEFTOVER_AGE_MS;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
