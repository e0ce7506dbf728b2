import {
  type ArchiveFile,
  type ArchiveFilter,
  countsInArchive,
  listArchiveFiles,
  listRemovableArchiveFiles,
} from '../postgres/archive-files.ts';
import type { Database } from '../postgres/database.ts';
import {
  ArchiveFileError,
  isAccessDenied,
  listDirectory,
  readArchiveFile,
  withoutUnfinished,
} from './archive-directory.ts';
import { parseArchiveLine } from './archive-line.ts';

export interface ArchiveReport {
  readonly files: number;
  readonly transactions: number;
  /** What is wrong, by file. */
  readonly faults: readonly string[];
  /** Files in the directory that do not count, such as those of a time that was lost with a restored backup. */
  readonly unknown: readonly string[];
}

/** What was found in a file. */
export interface CheckedFile {
  readonly transactions: number;
  /** null for a file that is whole. */
  readonly fault: string | null;
}

/**
 * Reads every file of the archive as a whole: its checksum, how many transactions it has, and each of its lines. Files
 * that an erasure replaces meanwhile are not faults: the files that take their place are read instead.
 */
export async function verifyArchive(
  database: Database,
  directory: string,
  filter: ArchiveFilter,
  onFile: (files: number) => void,
): Promise<ArchiveReport> {
  const isWhole = filter.clientId === null && filter.month === null;
  // Before the rows: what a running archive writes meanwhile is no unknown file.
  const listed = isWhole ? await listDirectory(directory) : [];
  const checked = new Map<string, CheckedFile>();
  const known = await removablePaths(database);
  for (;;) {
    const report = { files: 0, transactions: 0, faults: [] as string[] };
    let isReplaced = false;
    for await (const file of listArchiveFiles(database, filter)) {
      known.add(file.path);
      const { transactions, fault } = checked.get(file.path) ?? (await checkFile(directory, file));
      if (fault !== null && !(await countsInArchive(database, file))) {
        isReplaced = true;
        continue;
      }
      checked.set(file.path, { transactions, fault });
      report.files += 1;
      report.transactions += transactions;
      if (fault !== null) report.faults.push(fault);
      onFile(report.files);
    }
    if (isReplaced) continue;
    // What was replaced meanwhile is claimed before it is deleted, and forgotten after that.
    for (const path of await removablePaths(database)) known.add(path);
    const left = new Set(listed.length === 0 ? [] : await listDirectory(directory));
    const unknown = listed.filter((path) => !known.has(withoutUnfinished(path)) && left.has(path));
    return { ...report, unknown };
  }
}

/** The files that the database knows and that do not count. */
export const removablePaths = async (database: Database): Promise<Set<string>> =>
  new Set((await listRemovableArchiveFiles(database)).map(({ path }) => path));

/** @throws Error when this user may not read it: that is no fault of the file */
export async function checkFile(directory: string, file: ArchiveFile): Promise<CheckedFile> {
  let transactions = 0;
  try {
    for await (const line of readArchiveFile(directory, file)) {
      const { transaction } = parseArchiveLine(file, line);
      if (transaction.clientId !== file.clientId) throw new ArchiveFileError(file, 'it has another client');
      transactions += 1;
    }
    return { transactions, fault: null };
  } catch (error) {
    if (!(error instanceof Error) || isAccessDenied(error)) throw error;
    return {
      transactions,
      fault: error instanceof ArchiveFileError ? error.message : `${file.path}: ${error.message}`,
    };
  }
}
