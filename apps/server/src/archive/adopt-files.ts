import { stat } from 'node:fs/promises';
import path from 'node:path';
import { type ArchiveFile, listArchiveFiles } from '../postgres/archive-files.ts';
import type { Database } from '../postgres/database.ts';
import type { HeldLease } from '../postgres/leases.ts';
import { listDirectory, placeOf, readChecksums, withoutUnfinished } from './archive-directory.ts';
import { requireLease } from './restore-archive.ts';
import { checkFile, removablePaths } from './verify-archive.ts';

export interface Adoption {
  readonly database: Database;
  readonly directory: string;
  readonly lease: HeldLease;
  /** Stores that the file counts in place of the missing one. False when that one has changed meanwhile. */
  readonly adopt: (missing: ArchiveFile, file: ArchiveFile) => Promise<boolean>;
}

export interface AdoptionResult {
  readonly adopted: number;
  /** The missing files that no other one takes the place of, and why. */
  readonly left: readonly string[];
}

/**
 * After a backup from before an erasure was restored, the database has the files that the erasure replaced. Lets those
 * that took their place count: of the same client, month and events, with the checksum that was stored for them, whole,
 * and with as many transactions. Stopped, it goes on when it is run again.
 */
export async function adoptFiles({ database, directory, lease, adopt }: Adoption): Promise<AdoptionResult> {
  const left: string[] = [];
  let adopted = 0;
  await requireLease(lease);
  const counted = await Array.fromAsync(listArchiveFiles(database, { clientId: null, month: null }));
  const known = new Set([...counted.map((file) => file.path), ...(await removablePaths(database))]);
  const listed = await listDirectory(directory);
  const present = new Set(listed);
  const unknown = listed.filter((file) => !known.has(withoutUnfinished(file)) && withoutUnfinished(file) === file);
  const unknownByPlace = Map.groupBy(unknown, placeOf);
  const checksums = await readChecksums(directory);
  for (const missing of counted.filter((file) => !present.has(file.path))) {
    const found = await findReplacement(directory, missing, {
      candidates: unknownByPlace.get(placeOf(missing.path)) ?? [],
      checksums,
    });
    if (typeof found === 'string') {
      left.push(`${missing.path}: ${found}`);
      continue;
    }
    await requireLease(lease);
    if (await adopt(missing, found)) adopted += 1;
    else left.push(`${missing.path}: it has changed meanwhile`);
  }
  return { adopted, left };
}

interface Found {
  /** The unknown files in the place of the missing one. */
  readonly candidates: readonly string[];
  readonly checksums: ReadonlyMap<string, string>;
}

/** The file that takes the place of the missing one; or why there is none. */
async function findReplacement(
  directory: string,
  missing: ArchiveFile,
  { candidates, checksums }: Found,
): Promise<ArchiveFile | string> {
  const [candidate] = candidates;
  if (candidate === undefined) return 'it is missing, and no file took its place';
  if (candidates.length > 1) return `it is missing, and several files are in its place: ${candidates.join(', ')}`;
  const sha256 = checksums.get(candidate);
  if (sha256 === undefined) return `it is missing, and SHA256SUMS does not name ${candidate}`;
  const { size } = await stat(path.join(directory, candidate));
  const file = { ...missing, path: candidate, bytes: size, sha256 };
  const { fault } = await checkFile(directory, file);
  return fault === null ? file : `it is missing, and of the file in its place: ${fault}`;
}
