import { StartError } from '../lib/start-error.ts';
import { type ArchiveFile, type ArchiveFilter, holdRetention, listArchiveFiles } from '../postgres/archive-files.ts';
import type { Database } from '../postgres/database.ts';
import type { HeldLease } from '../postgres/leases.ts';
import { restoreHistories } from '../postgres/restore-histories.ts';
import type { TransactionHistory } from '../postgres/transaction-histories.ts';
import { readArchiveFile } from './archive-directory.ts';
import { parseArchiveLine } from './archive-line.ts';

export interface RestoreResult {
  readonly files: number;
  readonly inserted: number;
  readonly present: number;
  /** `client_id transaction_id` of transactions whose reference ID another transaction has now. */
  readonly conflicting: readonly string[];
}

export interface RestoreOptions {
  readonly holdHours: number;
  readonly lease: HeldLease;
  readonly onFile: (files: number) => void;
}

/** In one database transaction: few enough that it ends well within the statement timeout. */
const BATCH = 200;

/**
 * Restores the transactions of these files with their histories. Repeated, it inserts what is still missing. Before
 * that the retention is held, so that it does not delete at once what comes back.
 */
export async function restoreArchive(
  database: Database,
  directory: string,
  filter: ArchiveFilter,
  { holdHours, lease, onFile }: RestoreOptions,
): Promise<RestoreResult> {
  const conflicting: string[] = [];
  let [files, inserted, present] = [0, 0, 0];
  // The latest first: a transaction that was reversed after it had been archived is in two files.
  const found = await Array.fromAsync(listArchiveFiles(database, filter));
  for (const file of found.toReversed()) {
    await requireLease(lease);
    await requireWhole(directory, file);
    await holdRetention(database, file, holdHours);
    for await (const histories of batchesOf(directory, file)) {
      await requireLease(lease);
      const restored = await restoreHistories(database, file.clientId, histories);
      inserted += restored.inserted;
      present += restored.present;
      conflicting.push(...restored.conflicting.map((id) => `${file.clientId} ${id}`));
    }
    files += 1;
    onFile(files);
  }
  return { files, inserted, present, conflicting };
}

/** Without it, another process may replace the files or erase a person meanwhile. @throws StartError */
export async function requireLease(lease: HeldLease): Promise<void> {
  if (await lease.hold()) return;
  throw new StartError('another process archives at this moment: repeat the command in a minute, and it goes on');
}

/** Nothing of a file that was changed is restored. @throws ArchiveFileError */
async function requireWhole(directory: string, file: ArchiveFile): Promise<void> {
  for await (const line of readArchiveFile(directory, file)) parseArchiveLine(file, line);
}

async function* batchesOf(directory: string, file: ArchiveFile): AsyncGenerator<TransactionHistory[]> {
  let batch: TransactionHistory[] = [];
  for await (const line of readArchiveFile(directory, file)) {
    batch.push(parseArchiveLine(file, line));
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
