import { readFile, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';

/** A file system in the memory of the machine: on Linux. */
const MEMORY = '/dev/shm';
/** Far more than the tests take. Where containers have one, it is often of 64 MiB. */
const FREE_BYTES_MIN = 8 * 1024 ** 3;

/**
 * The directory for temporary files of a run of all tests. Most of them are databases, of six hundred files each: in
 * memory such a file costs a quarter of the processor time that it costs on a disk.
 */
export async function fastDirectory(): Promise<string> {
  const memory = await statfs(MEMORY).catch(() => null);
  const isLarge = memory !== null && memory.bavail * memory.bsize >= FREE_BYTES_MIN;
  return isLarge && (await mayRunPrograms()) ? MEMORY : tmpdir();
}

/** Some tests write a program and run it. */
async function mayRunPrograms(): Promise<boolean> {
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '');
  const options = mounts.split('\n').find((line) => line.split(' ')[1] === MEMORY);
  return options !== undefined && !options.includes('noexec');
}
