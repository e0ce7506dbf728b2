import { type ArchiveFilter, listArchiveFiles, listRemovableArchiveFiles } from '../postgres/archive-files.ts';
import type { Database } from '../postgres/database.ts';
import { ArchiveFileError, listDirectory, readArchiveFile, withoutUnfinished } from './archive-directory.ts';
import { parseArchiveLine } from './archive-line.ts';

export interface ArchiveReport {
  readonly files: number;
  readonly transactions: number;
  /** What is wrong, by file. */
  readonly faults: readonly string[];
  /** Files in the directory that do not count, such as those of a time that was lost with a restored backup. */
  readonly unknown: readonly string[];
}

/** Reads every file of the archive as a whole: its checksum, how many transactions it has, and each of its lines. */
export async function verifyArchive(
  database: Database,
  directory: string,
  filter: ArchiveFilter,
  onFile: (files: number) => void,
): Promise<ArchiveReport> {
  const faults: string[] = [];
  const isWhole = filter.clientId === null && filter.month === null;
  // Before the rows: what a running archive writes meanwhile is no unknown file.
  const listed = isWhole ? await listDirectory(directory) : [];
  const known = new Set((await listRemovableArchiveFiles(database)).map(({ path }) => path));
  let [files, transactions] = [0, 0];
  for await (const file of listArchiveFiles(database, filter)) {
    known.add(file.path);
    try {
      for await (const line of readArchiveFile(directory, file)) {
        const { transaction } = parseArchiveLine(line);
        if (transaction.clientId !== file.clientId) throw new ArchiveFileError(file, 'it has another client');
        transactions += 1;
      }
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      faults.push(error instanceof ArchiveFileError ? error.message : `${file.path}: ${error.message}`);
    }
    files += 1;
    onFile(files);
  }
  const left = new Set(listed.length === 0 ? [] : await listDirectory(directory));
  const unknown = listed.filter((path) => !known.has(withoutUnfinished(path)) && left.has(path));
  return { files, transactions, faults, unknown };
}
