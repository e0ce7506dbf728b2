import path from 'node:path';
import {
  hasChecksums,
  nameArchiveFile,
  readArchiveFile,
  removeArchiveFile,
  removeChecksums,
  writeArchiveFile,
  writeChecksums,
} from '../archive/archive-directory.ts';
import { parseArchiveLine, toArchiveLine } from '../archive/archive-line.ts';
import { removeUncounted } from '../archive/archive-transactions.ts';
import { createEraser, ERASED } from '../domain/eraser.ts';
import { isFinal } from '../domain/transaction.ts';
import { StartError } from '../lib/start-error.ts';
import { findAccountChecks } from '../postgres/account-checks.ts';
import {
  type ArchiveFile,
  announceArchiveFiles,
  forgetArchiveFile,
  listArchiveFiles,
  replaceArchiveFile,
} from '../postgres/archive-files.ts';
import type { Database } from '../postgres/database.ts';
import {
  eraseAccountHashes,
  listValidationRowsOf,
  type StoredValidationRow,
  storeErasedHistories,
  storeErasedRow,
} from '../postgres/personal-data.ts';
import type { TransactionHistory } from '../postgres/transaction-histories.ts';
import { concerns, eraseHistory, type Person } from './person.ts';
import { findHistories, findInFile } from './person-records.ts';

export interface Erasure {
  readonly database: Database;
  readonly person: Person;
  /** The archive's; null without one. */
  readonly directory: string | null;
  /** Transactions that ended later are under the legal hold. */
  readonly holdBefore: Date;
  /** Only counts what would be erased. */
  readonly isDryRun: boolean;
  /** Renews the lease of the archive; false when another process has it. */
  readonly hold: () => Promise<boolean>;
  readonly print: (line: string) => void;
}

export interface ErasureResult {
  readonly transactions: number;
  readonly validationRows: number;
  readonly accountChecks: number;
  readonly archivedTransactions: number;
  readonly archiveFiles: number;
  readonly left: readonly LeftRecord[];
}

/** What stays, and why. */
export interface LeftRecord {
  readonly where: string;
  readonly client_id: string;
  readonly id: string;
  readonly reason: 'in PROCESS' | 'under the legal hold' | 'the validation is running';
}

/**
 * Erases the person from what is stored. Each page and each file is erased as a whole or not at all, and what was
 * erased is not found again: after a kill, the same command goes on.
 */
export async function erasePerson(erasure: Erasure): Promise<ErasureResult> {
  const left: LeftRecord[] = [];
  const transactions = await eraseTransactions(erasure, left);
  const validationRows = await eraseValidationRows(erasure, left);
  const accountChecks = await eraseChecks(erasure);
  const { archivedTransactions, archiveFiles } = await eraseArchive(erasure, left);
  return { transactions, validationRows, accountChecks, archivedTransactions, archiveFiles, left };
}

const reasonToKeep = ({ transaction }: TransactionHistory, holdBefore: Date): LeftRecord['reason'] | null => {
  if (!isFinal(transaction.status) || transaction.processedAt === null) return 'in PROCESS';
  const ended = Date.parse(transaction.reversedAt ?? transaction.processedAt);
  return ended < holdBefore.getTime() ? null : 'under the legal hold';
};

/** Those that may be erased; the others are added to `left`. */
function erasable(
  histories: readonly TransactionHistory[],
  { holdBefore }: Erasure,
  where: string,
  left: LeftRecord[],
): TransactionHistory[] {
  return histories.filter((history) => {
    const reason = reasonToKeep(history, holdBefore);
    const { clientId, transactionId } = history.transaction;
    if (reason !== null) left.push({ where, client_id: clientId, id: transactionId, reason });
    return reason === null;
  });
}

async function eraseTransactions(erasure: Erasure, left: LeftRecord[]): Promise<number> {
  const { database, person, isDryRun, print } = erasure;
  let erased = 0;
  for await (const page of findHistories(database, person)) {
    const own = erasable(page, erasure, 'transactions', left);
    const clientId = own[0]?.transaction.clientId;
    if (clientId === undefined) continue;
    if (!isDryRun) {
      const histories = own.map((history) => eraseHistory(person, history));
      await storeErasedHistories(database, clientId, histories);
    }
    erased += own.length;
    print(`${erased} transactions in the database`);
  }
  return erased;
}

async function eraseValidationRows({ database, person, isDryRun }: Erasure, left: LeftRecord[]): Promise<number> {
  let erased = 0;
  for await (const rows of listValidationRowsOf(database, person.accountNumbers)) {
    for (const row of rows) {
      if (row.bankCode !== null && !person.isAt(row.bankCode)) continue;
      if (row.isRunning) {
        const { clientId, validationId } = row;
        const id = `${validationId} row ${row.rowNumber}`;
        left.push({ where: 'account_validations', client_id: clientId, id, reason: 'the validation is running' });
        continue;
      }
      if (!isDryRun) await storeErasedRow(database, eraseRow(person, row));
      erased += 1;
    }
  }
  return erased;
}

function eraseRow({ accountNumbers }: Person, row: StoredValidationRow): StoredValidationRow {
  const names = [row.expectedAccountName, row.accountName].filter((name) => name !== null);
  const { eraseText } = createEraser([...accountNumbers, ...names]);
  const orNull = (text: string | null): string | null => (text === null ? null : ERASED);
  return {
    ...row,
    reference: row.reference === null ? null : eraseText(row.reference),
    accountNumber: ERASED,
    expectedAccountName: orNull(row.expectedAccountName),
    accountName: orNull(row.accountName),
  };
}

const CHECKS_BATCH = 1_000;

async function eraseChecks({ database, person, isDryRun }: Erasure): Promise<number> {
  let erased = 0;
  if (isDryRun) {
    for (const accountHash of person.accountHashes) {
      const filter = { clientId: null, accountHash, from: null, to: null, limit: CHECKS_BATCH * CHECKS_BATCH };
      erased += (await findAccountChecks(database, filter)).length;
    }
    return erased;
  }
  for (;;) {
    const count = await eraseAccountHashes(database, person.accountHashes, CHECKS_BATCH);
    erased += count;
    if (count === 0) return erased;
  }
}

async function eraseArchive(
  erasure: Erasure,
  left: LeftRecord[],
): Promise<Pick<ErasureResult, 'archivedTransactions' | 'archiveFiles'>> {
  const { database, person, directory, isDryRun, print } = erasure;
  let [archivedTransactions, archiveFiles, read] = [0, 0, 0];
  if (directory === null) return { archivedTransactions, archiveFiles };
  await requireLease(erasure);
  // What a process that was killed has not deleted may still name the person.
  if (!isDryRun) await removeUncounted(database, directory);
  const files = await Array.fromAsync(listArchiveFiles(database, { clientId: null, month: null }));
  for (const file of files) {
    await requireLease(erasure);
    const own = erasable(await findInFile(directory, file, person), erasure, file.path, left);
    if (own.length > 0) {
      if (!isDryRun) await rewriteFile(erasure, directory, file);
      archivedTransactions += own.length;
      archiveFiles += 1;
    }
    read += 1;
    if (read % 100 === 0 || own.length > 0) print(`${read} of ${files.length} archive files read`);
  }
  if (!isDryRun && !(await hasChecksums(directory))) {
    await writeChecksums(directory, listArchiveFiles(database, { clientId: null, month: null }));
  }
  return { archivedTransactions, archiveFiles };
}

async function requireLease({ hold }: Erasure): Promise<void> {
  if (await hold()) return;
  throw new StartError('another process archives at this moment: repeat the command in a minute, and it goes on');
}

/** The new file counts, and the old one no longer, in one database transaction; then the old one is deleted. */
async function rewriteFile(erasure: Erasure, directory: string, file: ArchiveFile): Promise<void> {
  const { database, person, holdBefore } = erasure;
  const lastSequence = Number(path.posix.basename(file.path).split('-', 1)[0]);
  const replacement = nameArchiveFile(file.clientId, file.month, lastSequence);
  await announceArchiveFiles(database, [replacement]);
  async function* lines(): AsyncGenerator<string> {
    for await (const line of readArchiveFile(directory, file)) {
      const history = parseArchiveLine(line);
      const isErased = concerns(person, history) && reasonToKeep(history, holdBefore) === null;
      yield isErased ? toArchiveLine(eraseHistory(person, history)) : line;
    }
  }
  const written = await writeArchiveFile(directory, replacement, lines());
  await removeChecksums(directory);
  if (!(await replaceArchiveFile(database, file, written))) {
    throw new StartError('a file of the archive was changed meanwhile: repeat the command, and it goes on');
  }
  await removeArchiveFile(directory, file);
  await forgetArchiveFile(database, file);
}
