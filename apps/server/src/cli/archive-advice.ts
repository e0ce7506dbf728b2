import path from 'node:path';
import { ArchiveFileError, isAccessDenied } from '../archive/archive-directory.ts';
import type { Settings } from '../config/config.ts';
import { StartError } from '../lib/start-error.ts';

/**
 * What to do about a file of the archive that is damaged, missing, or not this user's. Other errors are returned as
 * they are.
 */
export function adviseOnArchive(error: unknown, { archiveDirectory }: Pick<Settings, 'archiveDirectory'>): unknown {
  if (!(error instanceof Error) || archiveDirectory === null) return error;
  if (isAccessDenied(error) && isBelow(archiveDirectory, error)) {
    const advice = 'run this command as the user of the service, who owns the archive';
    return new StartError(`${error.message}: ${advice}`, { cause: error });
  }
  if (!(error instanceof ArchiveFileError)) return error;
  const advice = 'bring it back from a backup, then repeat the command; it goes on';
  return new StartError(`${error.message}: ${advice}`, { cause: error });
}

/** Other files may be denied as well, such as one that an option names. */
const isBelow = (directory: string, error: unknown): boolean =>
  error instanceof Error &&
  (('path' in error && !path.relative(directory, String(error.path)).startsWith('..')) ||
    isBelow(directory, error.cause));
