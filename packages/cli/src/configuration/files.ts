import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CommandError } from '../errors.ts';

/** Files that only this user may read: they hold secrets. */

const ONLY_THIS_USER = 0o600;

/** Null when there is no such file. @throws CommandError with the advice when it is no JSON, or cannot be read */
export function readPrivateJson(file: string, advice = 'Correct or delete it.'): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw new CommandError('error', `${file} cannot be read`, { advice: 'Check its permissions.', cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CommandError('error', `${file} is damaged: it is no JSON`, { advice, cause });
  }
}

/** Replaces the file as a whole: a reader finds the former or the new content, and so does one after a power loss. */
export function writePrivateJson(file: string, content: unknown): void {
  const temporary = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(temporary, `${JSON.stringify(content, null, 2)}\n`, { mode: ONLY_THIS_USER, flush: true });
    renameSync(temporary, file);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw new CommandError('error', `${file} cannot be written`, {
      advice: 'Check the permissions and the space of its folder.',
      cause,
    });
  }
}

/** Whether other users of this machine can read the file. */
export function isExposed(file: string): boolean {
  if (process.platform === 'win32') return false;
  const { mode } = statSync(file, { throwIfNoEntry: false }) ?? { mode: ONLY_THIS_USER };
  return (mode & 0o077) !== 0;
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
