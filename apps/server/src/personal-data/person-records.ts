import { readArchiveFile } from '../archive/archive-directory.ts';
import { parseArchiveLine } from '../archive/archive-line.ts';
import { keyOf } from '../domain/identifiers.ts';
import type { ArchiveFile } from '../postgres/archive-files.ts';
import type { Database } from '../postgres/database.ts';
import { listTransactionsPaidTo, listTransactionsWithConflicts } from '../postgres/personal-data.ts';
import { readHistories, type TransactionHistory } from '../postgres/transaction-histories.ts';
import type { TransactionKey } from '../postgres/transactions.ts';
import { concerns, type Person } from './person.ts';

/**
 * The transactions in the database that concern the person, with their histories, a page of one client at a time. A
 * page may be empty: a search that takes minutes renews its lease with each.
 */
export async function* findHistories(database: Database, person: Person): AsyncGenerator<TransactionHistory[]> {
  const seen = new Set<string>();
  for (const list of [
    listTransactionsPaidTo(database, person.accountNumbers),
    listTransactionsWithConflicts(database),
  ]) {
    for await (const page of list) {
      for (const [clientId, ids] of idsByClient(
        page.filter(({ clientId, transactionId }) => !seen.has(keyOf(clientId, transactionId))),
      )) {
        const found = (await readHistories(database, clientId, ids)).filter((history) => concerns(person, history));
        for (const { transaction } of found) seen.add(keyOf(clientId, transaction.transactionId));
        yield found;
      }
    }
  }
}

export function idsByClient(keys: readonly TransactionKey[]): Map<string, string[]> {
  const clients = new Map<string, string[]>();
  for (const { clientId, transactionId } of keys) {
    clients.set(clientId, [...(clients.get(clientId) ?? []), transactionId]);
  }
  return clients;
}

/** The transactions of an archive file that concern the person. @throws ArchiveFileError */
export async function findInFile(directory: string, file: ArchiveFile, person: Person): Promise<TransactionHistory[]> {
  const found: TransactionHistory[] = [];
  for await (const line of readArchiveFile(directory, file)) {
    if (!mayConcern(person, line.text)) continue;
    const history = parseArchiveLine(file, line);
    if (concerns(person, history)) found.push(history);
  }
  return found;
}

/**
 * Most lines do not, and parsing takes longer than searching. A transaction that paid the person has the number as it
 * is. A conflict, of which there are few, may have it in its texts with spaces, dashes or escapes.
 */
const mayConcern = ({ accountNumbers }: Person, line: string): boolean =>
  line.includes(CONFLICT) || accountNumbers.some((number) => line.includes(number));

/** A field of a status update in a line (archive-line.ts). In a message its quotes are escaped. */
const CONFLICT = '"outcome":"conflict"';
