import type { AccountChecks, ValidationAccount } from '../account-checks/account-checks.ts';
import { type BankDirectory, parseAccountNumber } from '../domain/bank.ts';
import { type NewResult, recordResults, resultsTransaction } from '../postgres/account-validation-results.ts';
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
import type { Database, Query } from '../postgres/database.ts';
import { insertEvents } from '../postgres/events.ts';
import { validationToJson } from './to-json.ts';
import type { UploadRow } from './uploads/upload.ts';
import { validateRows } from './validate-rows.ts';

/** Few enough that a statement ends well within its deadline, and that other work gets its turn in between. */
const INSERT_BATCH_MAX = 1_000;

export interface NewUpload extends Omit<NewValidation, 'rowCount' | 'pauseMs'> {
  readonly rows: readonly UploadRow[];
}

export interface StoreDependencies {
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly accountChecks: Pick<AccountChecks, 'pauseForValidation'>;
  /** PostgreSQL's time: milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Stores a validation with all its rows, in one database transaction. Rows that cannot be checked get their result at
 * once. A validation that looks like account enumeration as a whole is stored as paused, before any of its accounts is
 * checked. Returns false when the idempotency key was used before. `permit` throws when the client exceeds a limit:
 * then nothing is stored.
 */
export async function storeValidation(
  { database, banks, accountChecks, now }: StoreDependencies,
  upload: NewUpload,
  permit: (stored: StoredCounts) => void,
): Promise<boolean> {
  const { rows: uploaded, ...validation } = upload;
  const rows = await validateRows(uploaded, banks);
  const pauseMs = await accountChecks.pauseForValidation(validation.clientId, accountsOf(rows, banks));
  return database.transaction(async (query) => {
    if (!(await insertValidation(query, { ...validation, rowCount: rows.length, pauseMs }))) return false;
    const ended: AccountValidation[] = [];
    for (let start = 0; start < rows.length; start += INSERT_BATCH_MAX) {
      const batch = rows.slice(start, start + INSERT_BATCH_MAX);
      await insertRows(query, validation, batch);
      const invalid = resultsOfInvalid(validation, batch, new Date(now()).toISOString());
      if (invalid.length > 0) ended.push(...(await recordResults(query, invalid)));
    }
    // Last, because inserting many rows takes seconds, and the lock on the client blocks the operator who disables it.
    permit(await lockAndCountStored(query, validation.clientId));
    await publishEnded(query, ended);
    return true;
  });
}

/** The accounts of the validation, each once, in the form in which single checks count them. */
const accountsOf = (rows: readonly NewRow[], banks: BankDirectory): ValidationAccount[] =>
  rows.flatMap(({ bic, accountNumber, duplicateRows }) => {
    const bank = bic === null || duplicateRows === null ? null : banks.find(bic);
    const parsed = bank === null ? null : parseAccountNumber(bank, accountNumber);
    return bank === null || parsed === null ? [] : [{ bic: bank.bic, accountNumber: parsed.reveal() }];
  });

function resultsOfInvalid(
  { clientId, validationId }: ValidationKey,
  rows: readonly NewRow[],
  checkedAt: string,
): NewResult[] {
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

/** Stores results of rows, and the events of the validations that end with them, in one database transaction. */
export function storeResults(database: Database, results: readonly NewResult[]): Promise<void> {
  return resultsTransaction(database, async (query) => publishEnded(query, await recordResults(query, results)));
}

/** Cancels a validation. A validation that has ended stays as it is. Null when there is no such validation. */
export async function storeCancellation(database: Database, key: ValidationKey): Promise<AccountValidation | null> {
  const cancelled = await database.transaction(async (query) => {
    const validation = await cancelValidation(query, key);
    if (validation !== null) await publishEnded(query, [validation]);
    return validation;
  });
  return cancelled ?? findValidation(database, key);
}

const CANCEL_BATCH_MAX = 100;

/** Cancels a batch of running validations that were created before then, of all clients. Returns how many. */
export async function cancelOldValidations(database: Database, createdBefore: Date): Promise<number> {
  const running = await listRunningValidations(database, CANCEL_BATCH_MAX);
  const old = running.filter(({ createdAt }) => createdAt < createdBefore.toISOString());
  for (const validation of old) await storeCancellation(database, validation);
  return old.length;
}

/**
 * Stores an `account_validation.ended` event for each validation, with the time at which the last of them ended. Call
 * it last in the database transaction in which they ended: they have its time.
 */
async function publishEnded(query: Query, ended: readonly AccountValidation[]): Promise<void> {
  const lastEndedAt = ended
    .map(({ endedAt, createdAt }) => endedAt ?? createdAt)
    .toSorted()
    .at(-1);
  if (lastEndedAt === undefined) return;
  await insertEvents(
    query,
    ended.map((validation) => ({
      clientId: validation.clientId,
      subjectId: validation.validationId,
      version: 1,
      kind: 'account_validation.ended',
      data: JSON.stringify(validationToJson(validation)),
    })),
    lastEndedAt,
  );
}
