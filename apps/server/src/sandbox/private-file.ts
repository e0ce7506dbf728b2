import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Only its owner can read it, and it is never there half-written. */
export async function writePrivateFile(file: string, content: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, `${content}\n`, { mode: 0o600 });
  await rename(unfinished, file);
}
