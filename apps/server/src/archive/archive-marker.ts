import { open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { StartError } from '../lib/start-error.ts';
import { findArchiveOwner } from '../postgres/archive-files.ts';
import type { Database } from '../postgres/database.ts';
import { isDirectory, syncDirectory } from './archive-directory.ts';

/**
 * A file in the directory of the archive with the ID of the installation. The mount point of a disk that is not mounted
 * is an empty directory: without this file it would look like a new archive.
 */
const MARKER = 'TIBA_ARCHIVE';

/** @throws StartError when the directory is away, when its disk is not mounted, or when it is another installation's */
export async function requireArchive(database: Database, directory: string): Promise<void> {
  if (await needsMarker(database, directory)) {
    const owner = await findArchiveOwner(database);
    if (owner?.hasFiles === true) {
      throw new StartError(
        `the directory of the archive has no file ${MARKER}, so its disk may not be mounted: ${directory}. ` +
          `When it is the right directory, write ${owner.installationId} into this file`,
      );
    }
  }
}

/** As `requireArchive`, and marks the directory of an archive that has no files yet. Only under the archive's lease. */
export async function requireMarkedArchive(database: Database, directory: string): Promise<void> {
  await requireArchive(database, directory);
  if (!(await needsMarker(database, directory))) return;
  const owner = await findArchiveOwner(database);
  if (owner === null) return;
  const target = path.join(directory, MARKER);
  const handle = await open(`${target}.part`, 'w', 0o600);
  try {
    await handle.writeFile(`${owner.installationId}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${target}.part`, target);
  await syncDirectory(directory);
}

async function needsMarker(database: Database, directory: string): Promise<boolean> {
  if (!(await isDirectory(directory)))
    throw new StartError(`the directory of the archive does not exist: ${directory}`);
  const marker = await readFile(path.join(directory, MARKER), 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  });
  if (marker === null) return true;
  const owner = await findArchiveOwner(database);
  if (owner === null || marker.trim() === owner.installationId) return false;
  throw new StartError(
    `the directory belongs to the archive of another installation, as its file ${MARKER} says: ${directory}. ` +
      'Set TIBA_ARCHIVE_DIRECTORY to the directory of this one',
  );
}
