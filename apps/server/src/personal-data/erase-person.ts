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
import { requireArchive } from '../archive/archive-marker.ts';
import { removeUncounted } from '../archive/archive-transactions.ts';
import { createEraser, ERASED } from '../domain/eraser.ts';
import { keyOf } from '../domain/identifiers.ts';
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
import type { HeldLease } from '../postgres/leases.ts';
import {
  eraseAccountHashes,
  eraseHistories,
  listValidationRowsOf,
  type StoredValidationRow,
  storeErasedRow,
} from '../postgres/personal-data.ts';
import { readHistories, type TransactionHistory } from '../postgres/transaction-histories.ts';
import type { TransactionKey } from '../postgres/transactions.ts';
import { concerns, eraseHistory, type Person } from './person.ts';
import { findHistories, findInFile, idsByClient } from './person-records.ts';

export interface Erasure {
  readonly database: Database;
  readonly person: Person;
  /** The archive's; null without one. */
  readonly directory: string | null;
  /** Transactions that ended later are under the legal hold. */
  readonly holdBefore: Date;
  /** Only counts what would be erased. */
  readonly isDryRun: boolean;
  /** The lease of the archive. */
  readonly lease: HeldLease;
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
  // Two commands at once would store what each has read, with the person whom the other has just erased.
  await requireLease(erasure);
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
    await requireLease(erasure);
    const own = erasable(page, erasure, 'transactions', left);
    const clientId = own[0]?.transaction.clientId;
    if (clientId === undefined) continue;
    const ids = own.map(({ transaction }) => transaction.transactionId);
    // Judged again when they are locked: one may have been reversed since, and is under the legal hold now.
    const eraseLocked = (histories: readonly TransactionHistory[]): TransactionHistory[] =>
      erasable(histories, erasure, 'transactions', left).map((history) => eraseHistory(person, history));
    erased += isDryRun ? own.length : await eraseHistories(database, clientId, ids, eraseLocked);
    print(`${erased} transactions in the database`);
  }
  return erased;
}

async function eraseValidationRows(erasure: Erasure, left: LeftRecord[]): Promise<number> {
  const { database, person, isDryRun } = erasure;
  let erased = 0;
  for await (const rows of listValidationRowsOf(database, person.accountNumbers)) {
    await requireLease(erasure);
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
  const { eraseText } = createEraser([...accountNumbers, row.accountNumber ?? '', ...names]);
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

async function eraseChecks(erasure: Erasure): Promise<number> {
  const { database, person, isDryRun } = erasure;
  let erased = 0;
  if (isDryRun) {
    for (const accountHash of person.accountHashes) {
      const filter = { clientId: null, accountHash, from: null, to: null, limit: CHECKS_BATCH * CHECKS_BATCH };
      erased += (await findAccountChecks(database, filter)).length;
    }
    return erased;
  }
  for (;;) {
    await requireLease(erasure);
    const count = await eraseAccountHashes(database, person.accountHashes, CHECKS_BATCH);
    erased += count;
    if (count === 0) return erased;
  }
}

async function eraseArchive(
  erasure: Erasure,
  left: LeftRecord[],
): Promise<Pick<ErasureResult, 'archivedTransactions' | 'archiveFiles'>> {
  const { database, person, directory, holdBefore, isDryRun, print } = erasure;
  let [archivedTransactions, archiveFiles, read] = [0, 0, 0];
  if (directory === null) return { archivedTransactions, archiveFiles };
  await requireArchive(database, directory);
  // What a process that was killed has not deleted may still name the person.
  if (!isDryRun) await removeUncounted(database, directory);
  const files = await Array.fromAsync(listArchiveFiles(database, { clientId: null, month: null }));
  const found: FoundLine[] = [];
  for (const file of files) {
    await requireLease(erasure);
    for (const history of await findInFile(directory, file, person)) found.push(toFoundLine(file, history, holdBefore));
    read += 1;
    if (read % 100 === 0) print(`${read} of ${files.length} archive files read`);
  }
  const held = await findHeld(erasure, found);
  for (const file of files) {
    const own = found.filter((line) => line.file === file);
    const kept = own.filter(({ key }) => held.has(key));
    for (const { clientId, transactionId } of kept) {
      left.push({ where: file.path, client_id: clientId, id: transactionId, reason: 'under the legal hold' });
    }
    if (kept.length === own.length) continue;
    await requireLease(erasure);
    if (!isDryRun) await rewriteFile(erasure, directory, file, held);
    archivedTransactions += own.length - kept.length;
    archiveFiles += 1;
    print(`${archivedTransactions} transactions in ${archiveFiles} archive files`);
  }
  if (!isDryRun && !(await hasChecksums(directory))) {
    await writeChecksums(directory, listArchiveFiles(database, { clientId: null, month: null }));
  }
  return { archivedTransactions, archiveFiles };
}

/** A line of the archive that concerns the person. Only what is needed: there may be very many. */
interface FoundLine extends TransactionKey {
  readonly file: ArchiveFile;
  readonly key: string;
  readonly isHeld: boolean;
}

const toFoundLine = (file: ArchiveFile, history: TransactionHistory, holdBefore: Date): FoundLine => {
  const { clientId, transactionId } = history.transaction;
  const isHeld = reasonToKeep(history, holdBefore) !== null;
  return { file, clientId, transactionId, key: keyOf(clientId, transactionId), isHeld };
};

/**
 * The transactions under the legal hold, among those of these lines. A transaction that was archived when it ended, and
 * again when it was reversed, has two lines: the latest decides about both, or its row in the database, which may have
 * been reversed since.
 */
async function findHeld(erasure: Erasure, lines: readonly FoundLine[]): Promise<Set<string>> {
  const held = new Set(lines.filter(({ isHeld }) => isHeld).map(({ key }) => key));
  for (const [clientId, ids] of idsByClient(lines)) {
    for (let start = 0; start < ids.length; start += HISTORIES_BATCH) {
      await requireLease(erasure);
      const histories = await readHistories(erasure.database, clientId, ids.slice(start, start + HISTORIES_BATCH));
      for (const history of histories) {
        if (reasonToKeep(history, erasure.holdBefore) === null) continue;
        held.add(keyOf(clientId, history.transaction.transactionId));
      }
    }
  }
  return held;
}

const HISTORIES_BATCH = 200;

async function requireLease({ lease }: Erasure): Promise<void> {
  if (await lease.hold()) return;
  throw new StartError(
    'another process archives or erases at this moment: repeat the command in a minute, and it goes on',
  );
}

/** The new file counts, and the old one no longer, in one database transaction; then the old one is deleted. */
async function rewriteFile(
  { database, person, lease }: Erasure,
  directory: string,
  file: ArchiveFile,
  held: ReadonlySet<string>,
): Promise<void> {
  const lastSequence = Number(path.posix.basename(file.path).split('-', 1)[0]);
  const replacement = nameArchiveFile(file.clientId, file.month, lastSequence);
  await announceArchiveFiles(database, [replacement]);
  async function* lines(): AsyncGenerator<string> {
    for await (const line of readArchiveFile(directory, file)) {
      const history = parseArchiveLine(file, line);
      const { clientId, transactionId } = history.transaction;
      const isErased = concerns(person, history) && !held.has(keyOf(clientId, transactionId));
      yield isErased ? toArchiveLine(eraseHistory(person, history)) : line.text;
    }
  }
  const written = await writeArchiveFile(directory, replacement, lines());
  await removeChecksums(directory);
  if (!(await replaceArchiveFile(database, lease, file, written))) {
    await removeArchiveFile(directory, written);
    throw new StartError('a file of the archive was changed meanwhile: repeat the command, and it goes on');
  }
  await removeArchiveFile(directory, file);
  await forgetArchiveFile(database, file);
}
