import type { BankDirectory } from '../domain/bank.ts';
import { type NewResult, recordResults } from '../postgres/account-validation-results.ts';
import { insertRows, type NewRow } from '../postgres/account-validation-rows.ts';
import {
  type AccountValidation,
  cancelValidation,
  findValidation,
  insertValidation,
  listRunningValidations,
  lockAndCountStored,
  type NewValidation,
  type StoredCounts,
  type ValidationKey,
} from '../postgres/account-validations.ts';
import type { Database } from '../postgres/database.ts';
import { publishEnded } from './publish-ended.ts';
import type { UploadRow } from './uploads/upload.ts';
import { validateRows } from './validate-rows.ts';

/** So many rows that a statement is done well within its deadline, and that others have their turn between two. */
const ROWS_AT_ONCE = 1_000;
/** Each of many results may be that of a thousand rows with the same account (judge-rows.ts). */
const RESULTS_TIMEOUT_MS = 20_000;

export interface NewValidationJob extends Omit<NewValidation, 'rowCount'> {
  readonly rows: readonly UploadRow[];
}

/**
 * Keeps a job with all its rows; those that cannot be asked about have their result at once. False when the key was used
 * before. `permit` throws when the client has too much with it: then nothing of it stays.
 */
export async function storeValidation(
  database: Database,
  banks: BankDirectory,
  job: NewValidationJob,
  permit: (kept: StoredCounts) => void,
): Promise<boolean> {
  const { rows: uploaded, ...validation } = job;
  const rows = await validateRows(uploaded, banks);
  return database.transaction(async (query) => {
    if (!(await insertValidation(query, { ...validation, rowCount: rows.length }))) return false;
    const ended: AccountValidation[] = [];
    for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
      const some = rows.slice(start, start + ROWS_AT_ONCE);
      await insertRows(query, validation, some);
      const faults = faultsOf(validation, some);
      if (faults.length > 0) ended.push(...(await recordResults(query, faults)));
    }
    // Late, since many rows take seconds: whoever would disable the client waits for its lock.
    permit(await lockAndCountStored(query, validation.clientId));
    await publishEnded(query, ended);
    return true;
  });
}

function faultsOf({ clientId, validationId }: ValidationKey, rows: readonly NewRow[]): NewResult[] {
  const checkedAt = new Date().toISOString();
  return rows.flatMap(({ rowNumber, fault }) =>
    fault === null
      ? []
      : [
          {
            clientId,
            validationId,
            rowNumber,
            result: fault.code,
            accountName: null,
            message: fault.message,
            checkedAt,
          },
        ],
  );
}

/** Keeps what came of rows, and tells of the jobs that have ended with it, in one database transaction. */
export function storeResults(database: Database, results: readonly NewResult[]): Promise<void> {
  return database.transaction(
    async (query) => {
      await query(`set local statement_timeout = ${RESULTS_TIMEOUT_MS}`);
      await publishEnded(query, await recordResults(query, results));
    },
    { timeoutMs: RESULTS_TIMEOUT_MS },
  );
}

/** Null when there is no such job; one that has ended stays as it is. */
export async function storeCancellation(database: Database, key: ValidationKey): Promise<AccountValidation | null> {
  const cancelled = await database.transaction(async (query) => {
    const validation = await cancelValidation(query, key);
    if (validation !== null) await publishEnded(query, [validation]);
    return validation;
  });
  return cancelled ?? findValidation(database, key);
}

const CANCELLED_AT_ONCE = 100;

/** Cancels some of the jobs that began before then and are still running. Whether there may be more. Crosses clients. */
export async function cancelOldValidations(database: Database, createdBefore: Date): Promise<boolean> {
  const running = await listRunningValidations(database, CANCELLED_AT_ONCE);
  const old = running.filter(({ createdAt }) => createdAt < createdBefore.toISOString());
  for (const job of old) await storeCancellation(database, job);
  return old.length === CANCELLED_AT_ONCE;
}
