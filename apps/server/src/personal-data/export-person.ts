import { placeOf } from '../archive/archive-directory.ts';
import { toArchiveLine } from '../archive/archive-line.ts';
import { findAccountChecks } from '../postgres/account-checks.ts';
import { type ArchiveFile, countsInArchive, listArchiveFiles } from '../postgres/archive-files.ts';
import type { Database } from '../postgres/database.ts';
import { listValidationRowsOf } from '../postgres/personal-data.ts';
import type { Person } from './person.ts';
import { findHistories, findInFile } from './person-records.ts';

/** One thing that is stored about the person, and where. */
export interface PersonRecord {
  readonly where: 'transactions' | 'account_validations' | 'account_checks' | 'archive';
  readonly [field: string]: unknown;
}

/** More checks of one account than a list is useful for. */
const CHECKS_MAX = 100_000;

/** Everything that is stored about the person. `directory` is the archive's; null without one. */
export async function* exportPerson(
  database: Database,
  person: Person,
  directory: string | null,
): AsyncGenerator<PersonRecord> {
  for await (const histories of findHistories(database, person)) {
    for (const history of histories) yield { where: 'transactions', ...parse(toArchiveLine(history)) };
  }
  for await (const rows of listValidationRowsOf(database, person.accountNumbers)) {
    for (const row of rows) {
      if (row.bankCode !== null && !person.isAt(row.bankCode)) continue;
      yield {
        where: 'account_validations',
        client_id: row.clientId,
        validation_id: row.validationId,
        row_number: row.rowNumber,
        bank_code: row.bankCode,
        reference: row.reference,
        account_number: row.accountNumber,
        expected_account_name: row.expectedAccountName,
        account_name: row.accountName,
        result: row.result,
      };
    }
  }
  for (const accountHash of person.accountHashes) {
    const filter = { clientId: null, accountHash, from: null, to: null, limit: CHECKS_MAX };
    for (const check of await findAccountChecks(database, filter)) {
      const { clientId, checkedAt, bic, outcome, requestId } = check;
      yield {
        where: 'account_checks',
        client_id: clientId,
        checked_at: checkedAt,
        bic,
        outcome,
        request_id: requestId,
      };
    }
  }
  if (directory === null) return;
  yield* exportFromArchive(database, person, directory);
}

/** Of a file that an erasure replaces meanwhile, the file that takes its place is read instead. */
async function* exportFromArchive(database: Database, person: Person, directory: string): AsyncGenerator<PersonRecord> {
  /** By place. Several in one place may count: those of an archive that was ended and begun again. */
  const read = new Map<string, ArchiveFile[]>();
  const isInPlaceOfOneRead = async (file: ArchiveFile): Promise<boolean> => {
    for (const each of read.get(placeOf(file.path)) ?? []) {
      if (each.path === file.path || !(await countsInArchive(database, each))) return true;
    }
    return false;
  };
  for (let isReplaced = true; isReplaced; ) {
    isReplaced = false;
    for await (const file of listArchiveFiles(database, { clientId: null, month: null })) {
      if (await isInPlaceOfOneRead(file)) continue;
      const found = await findInFile(directory, file, person).catch(async (error: unknown) => {
        if (await countsInArchive(database, file)) throw error;
        return null;
      });
      if (found === null) {
        isReplaced = true;
        continue;
      }
      read.getOrInsertComputed(placeOf(file.path), () => []).push(file);
      for (const history of found) yield { where: 'archive', file: file.path, ...parse(toArchiveLine(history)) };
    }
  }
}

const parse = (line: string): Readonly<Record<string, unknown>> => JSON.parse(line) as Record<string, unknown>;
