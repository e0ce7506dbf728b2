import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AccountCheckFault, parseAccountCheck } from '../domain/account-check-request.ts';
import type { BankDirectory } from '../domain/bank.ts';
import { isReferenceId } from '../domain/identifiers.ts';
import type { BilingualText } from '../lib/bilingual-text.ts';
import type { NewRow } from '../postgres/account-validation-rows.ts';
import type { UploadRow } from './uploads/upload.ts';

/** Rows with one account: the first, and its duplicates, which get their results in the same statement. */
const ROWS_OF_ACCOUNT_MAX = 1_001;

/** Validated within some milliseconds; the event loop gets a turn after each batch. */
const BATCH_MAX = 1_000;

/**
 * Finds the fault of each row, and rows about the same account: the first is checked, the others are its duplicates.
 */
export async function validateRows(rows: readonly UploadRow[], banks: BankDirectory): Promise<NewRow[]> {
  const duplicatesByAccount = new Map<string, number[]>();
  const validated: NewRow[] = [];
  for (const row of rows) {
    validated.push(validateRow(row, banks, duplicatesByAccount));
    if (validated.length % BATCH_MAX === 0) await nextTurn();
  }
  return validated;
}

function validateRow(
  { fault, ...row }: UploadRow,
  banks: BankDirectory,
  duplicatesByAccount: Map<string, number[]>,
): NewRow {
  const { bankCode, accountNumber, expectedAccountName: expectedName } = row;
  const fields = { bankCode: bankCode ?? undefined, accountNumber: accountNumber ?? undefined, expectedName };
  const request = parseAccountCheck(fields, banks);
  if (fault !== null) return invalidRow(row, { code: 'INVALID_FORMAT', message: fault });
  if ('code' in request) return invalidRow(row, request);
  if (row.reference !== null && !isReferenceId(row.reference)) {
    return invalidRow({ ...row, reference: null }, { code: 'INVALID_FORMAT', message: INVALID_REFERENCE });
  }
  const { bic } = request.bank;
  const account = `${bic} ${request.accountNumber.reveal()}`;
  const known = duplicatesByAccount.get(account);
  if (known !== undefined && known.length + 1 >= ROWS_OF_ACCOUNT_MAX) return invalidRow(row, TOO_MANY_DUPLICATES);
  if (known !== undefined) {
    known.push(row.rowNumber);
    return { ...row, bic, duplicateRows: null, fault: null };
  }
  // This array of the first row grows while the later rows are validated.
  const duplicateRows: number[] = [];
  duplicatesByAccount.set(account, duplicateRows);
  return { ...row, bic, duplicateRows, fault: null };
}

const INVALID_REFERENCE: BilingualText = {
  en: 'Invalid format: reference must be 1 to 128 characters, none of them a control character',
  id: 'Format tidak valid: reference harus terdiri dari 1 sampai 128 karakter, tanpa karakter kontrol',
};

const TOO_MANY_DUPLICATES: AccountCheckFault = {
  code: 'INVALID_FORMAT',
  message: {
    en: `Invalid format: more than ${ROWS_OF_ACCOUNT_MAX} rows have this account: send it once`,
    id: `Format tidak valid: lebih dari ${ROWS_OF_ACCOUNT_MAX} baris berisi rekening ini: kirim satu kali saja`,
  },
};

const invalidRow = (row: Omit<UploadRow, 'fault'>, fault: AccountCheckFault): NewRow => ({
  ...row,
  bic: null,
  duplicateRows: [],
  fault,
});
