import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AccountCheckFault, parseAccountCheck } from '../domain/account-check-request.ts';
import type { BankDirectory } from '../domain/bank.ts';
import { isReferenceId } from '../domain/identifiers.ts';
import type { NewRow } from '../postgres/account-validation-rows.ts';
import type { UploadRow } from './uploads/upload.ts';

/** All of them have their result in one statement. */
const DUPLICATE_ROWS_MAX = 1_000;

/** Judged in some milliseconds; between two, others have their turn. */
const JUDGED_AT_ONCE = 1_000;

/** What is wrong with each row; and which rows are about the same account, so that the first is asked about for all. */
export async function validateRows(rows: readonly UploadRow[], banks: BankDirectory): Promise<NewRow[]> {
  const duplicateRows = new Map<string, number[]>();
  const judged: NewRow[] = [];
  for (const row of rows) {
    judged.push(judge(row, banks, duplicateRows));
    if (judged.length % JUDGED_AT_ONCE === 0) await nextTurn();
  }
  return judged;
}

function judge({ fault, ...row }: UploadRow, banks: BankDirectory, duplicateRows: Map<string, number[]>): NewRow {
  const question = parseAccountCheck({ ...row, expectedName: row.expectedAccountName }, banks);
  if (fault !== null) return unaskable(row, { code: 'INVALID_FORMAT', message: fault });
  if ('code' in question) return unaskable(row, question);
  if (row.reference !== null && !isReferenceId(row.reference)) {
    return unaskable({ ...row, reference: null }, { code: 'INVALID_FORMAT', message: INVALID_REFERENCE });
  }
  const { bic } = question.bank;
  const account = `${bic} ${question.accountNumber.reveal()}`;
  const first = duplicateRows.get(account);
  if (first !== undefined && first.length >= DUPLICATE_ROWS_MAX) return unaskable(row, TOO_OFTEN);
  if (first !== undefined) {
    first.push(row.rowNumber);
    return { ...row, bic, duplicateRows: null, fault: null };
  }
  // Grows while later rows are judged.
  const also: number[] = [];
  duplicateRows.set(account, also);
  return { ...row, bic, duplicateRows: also, fault: null };
}

const INVALID_REFERENCE = 'Invalid format: reference must be 1 to 128 characters, none of them a control character';

const TOO_OFTEN: AccountCheckFault = {
  code: 'INVALID_FORMAT',
  message: `Invalid format: more than ${DUPLICATE_ROWS_MAX} rows have this account: send it once`,
};

const unaskable = (row: Omit<UploadRow, 'fault'>, fault: AccountCheckFault): NewRow => ({
  ...row,
  bic: null,
  duplicateRows: [],
  fault,
});
