import type { Bank } from '../../../client/src/index.ts';
import { readAccountNumber } from './account-number.ts';
import { type BankDirectory, uniqueCodeOf } from './bank-directory.ts';
import type { Columns } from './find-columns.ts';
import { type Cell, type Table, type TableRow, textOf } from './table.ts';

/** One account that the service is asked about. It answers all rows that have this bank, number and name. */
export interface Account {
  readonly bank_code: string;
  readonly account_number: string;
  readonly expected_account_name?: string;
}

/** Why a row is not sent. The codes are those of the service. */
export interface RowFault {
  readonly code: 'INVALID_BANK_CODE' | 'INVALID_FORMAT';
  readonly message: string;
}

export interface CheckedRow extends TableRow {
  /** Null where the row names no bank that exists. */
  readonly bank: Bank | null;
  /** The index in `accounts`; null when the row has a fault. */
  readonly account: number | null;
  readonly rowFault: RowFault | null;
  readonly warning: string | null;
}

/** What has happened to the zeros at the start of the numbers. The rows are lines of the file. */
export interface Zeros {
  readonly lost: readonly number[];
  readonly restored: readonly number[];
  readonly uncertain: readonly number[];
}

export interface RowsToCheck {
  /** In the order of the file. */
  readonly rows: readonly CheckedRow[];
  /** Each once, and all with the same bank and number beside each other. */
  readonly accounts: readonly Account[];
  readonly zeros: Zeros;
  /** Rows whose account an earlier row has. */
  readonly duplicates: number;
}

export interface RowOptions {
  readonly columns: Columns;
  readonly directory: BankDirectory;
  /** The bank of all rows; null when a column has it. */
  readonly bank: string | null;
  readonly restoresZeros: boolean;
}

/** Reads the bank, the number and the name of each row, and finds the rows that ask the same. */
export function readRows(table: Table, options: RowOptions): RowsToCheck {
  const collector = createCollector();
  const zeros = { lost: [] as number[], restored: [] as number[], uncertain: [] as number[] };
  const rows = table.rows.map((row): Omit<CheckedRow, 'account'> & { readonly key: string | null } => {
    const read = readRow(row, options);
    if (read.zeros !== null) zeros[read.zeros].push(row.line);
    const { bank, rowFault, warning, account } = read;
    return { ...row, bank, rowFault, warning, key: account === null ? null : collector.add(account) };
  });
  const { accounts, indexes } = collector.all();
  return {
    rows: rows.map(({ key, ...row }) => ({ ...row, account: key === null ? null : (indexes.get(key) ?? null) })),
    accounts,
    zeros,
    duplicates: rows.filter(({ key }) => key !== null).length - accounts.length,
  };
}

interface ReadRow {
  readonly bank: Bank | null;
  readonly account: Account | null;
  readonly rowFault: RowFault | null;
  readonly warning: string | null;
  readonly zeros: keyof Zeros | null;
}

function readRow(
  { cells, fault }: TableRow,
  { columns, directory, bank: oneBank, restoresZeros }: RowOptions,
): ReadRow {
  const nothing = { bank: null, account: null, rowFault: null, warning: null, zeros: null };
  const faulty = (code: RowFault['code'], message: string, more: Partial<ReadRow> = {}): ReadRow => ({
    ...nothing,
    ...more,
    rowFault: { code, message },
  });
  if (fault !== null) return faulty('INVALID_FORMAT', fault);

  const cellOf = (column: number | null): Cell | undefined => (column === null ? undefined : cells[column]);
  const found = findBank(oneBank ?? textOf(cellOf(columns.bank)).trim(), directory);
  if (typeof found === 'string') return faulty('INVALID_BANK_CODE', found);
  const { bank, codeLostZeros } = found;
  if (codeLostZeros !== null && !restoresZeros)
    return faulty('INVALID_BANK_CODE', `${codeLostZeros}; ${RESTORE}`, { bank, zeros: 'lost' });

  const read = readAccountNumber(cellOf(columns.account), bank);
  if (read.kind === 'fault') return faulty('INVALID_FORMAT', read.fault, { bank });
  if (read.kind === 'zeros-lost' && !restoresZeros)
    return faulty('INVALID_FORMAT', `${read.fault}; ${RESTORE}`, { bank, zeros: 'lost' });

  const isRestored = read.kind === 'zeros-lost' || codeLostZeros !== null;
  const uncertain = read.kind === 'number' ? read.warning : null;
  const name = textOf(cellOf(columns.name)).trim();
  return {
    ...nothing,
    bank,
    account: {
      bank_code: uniqueCodeOf(bank),
      account_number: read.kind === 'number' ? read.number : read.restored,
      ...(name === '' ? {} : { expected_account_name: name }),
    },
    warning: isRestored ? `checked with the zeros that were lost: ${restoredText(read, bank)}` : uncertain,
    zeros: isRestored ? 'restored' : uncertain === null ? null : 'uncertain',
  };
}

const RESTORE = 'correct the file, or let --restore-zeros add them';

const restoredText = (read: ReturnType<typeof readAccountNumber>, { bank_code: code }: Bank): string =>
  read.kind === 'zeros-lost' ? read.restored : `bank ${code}`;

interface FoundBank {
  readonly bank: Bank;
  /** The code of the file has lost zeros: says so. */
  readonly codeLostZeros: string | null;
}

/** The bank that a cell names, or what is wrong with the cell. */
function findBank(text: string, directory: BankDirectory): FoundBank | string {
  if (text === '') return 'has no bank';
  const bank = directory.find(text);
  if (bank !== null) return { bank, codeLostZeros: null };
  // Clearing codes have three digits: 14 is 014.
  const whole = /^\d{1,2}$/.test(text) ? directory.find(text.padStart(3, '0')) : null;
  if (whole !== null) return { bank: whole, codeLostZeros: `has the bank code ${text}, which has lost a zero` };
  return 'has a bank that the service does not know: see the codes with tiba banks';
}

/** Gives each account an index. Accounts with the same bank and number stand together, so that one upload has them. */
function createCollector() {
  const byNumber = new Map<string, Map<string, Account>>();
  return {
    /** Returns the key of the account. */
    add(account: Account): string {
      const number = `${account.bank_code} ${account.account_number}`;
      const key = `${number} ${account.expected_account_name ?? ''}`;
      const names = byNumber.get(number) ?? new Map<string, Account>();
      byNumber.set(number, names);
      if (!names.has(key)) names.set(key, account);
      return key;
    },
    all(): { readonly accounts: readonly Account[]; readonly indexes: ReadonlyMap<string, number> } {
      const entries = [...byNumber.values()].flatMap((names) => Array.from(names));
      return {
        accounts: entries.map(([, account]) => account),
        indexes: new Map(entries.map(([key], index) => [key, index])),
      };
    },
  };
}
