import { UnusableFile } from './table.ts';

/** What is needed of a row. `bank` may be given once for the whole file. */
export const FIELDS = ['bank', 'account', 'name'] as const;
export type Field = (typeof FIELDS)[number];

/** The positions of the columns; null where the file has none. */
export type Columns = Readonly<Record<Field, number | null>>;

/** What the user says about the columns: a name of the header row, a letter as in a spreadsheet, or a position. */
export type GivenColumns = Readonly<Record<Field, string | null>>;

const OPTIONS: Readonly<Record<Field, string>> = {
  bank: '--bank-column',
  account: '--account-column',
  name: '--name-column',
};
const MEANINGS: Readonly<Record<Field, string>> = {
  bank: 'the bank',
  account: 'the account number',
  name: "the holder's name",
};

/**
 * The names of columns in English and Indonesian, the clearest ones first. A file that has a column of an earlier
 * group is read by that one, whatever other columns it has: `bank_code` comes before `bank_name`.
 */
const NAMES: Readonly<Record<Field, readonly (readonly string[])[]>> = {
  bank: [
    ['bank code', 'kode bank', 'beneficiary bank code', 'kode bank tujuan', 'kode bank penerima'],
    ['bank', 'bank tujuan', 'bank penerima', 'beneficiary bank', 'recipient bank', 'destination bank'],
    ['bank name', 'nama bank', 'nama bank tujuan', 'nama bank penerima', 'beneficiary bank name'],
    ['bic', 'kode bic', 'swift', 'swift code', 'kode swift', 'clearing code', 'kode kliring', 'sandi bank'],
  ],
  account: [
    ['account number', 'nomor rekening', 'no rekening', 'no rek', 'norek', 'nomor rek', 'nomer rekening', 'norekening'],
    ['account no', 'acc no', 'acc number', 'acct no', 'acct number', 'bank account number', 'accountnumber'],
    ['beneficiary account', 'beneficiary account number', 'beneficiary account no', 'recipient account'],
    ['nomor rekening tujuan', 'no rekening tujuan', 'no rek tujuan', 'rekening tujuan', 'destination account'],
    ['nomor rekening penerima', 'no rekening penerima', 'no rek penerima', 'rekening penerima'],
    ['nomor rekening bank', 'no rekening bank', 'rekening bank', 'bank account', 'nomor akun', 'no akun'],
    ['account', 'acct', 'rekening', 'rek'],
    ['mobile number', 'nomor hp', 'no hp', 'nomor ponsel', 'no ponsel', 'phone number', 'nomor telepon'],
  ],
  name: [
    ['expected account name'],
    ['account name', 'account holder', 'account holder name', 'holder name', 'accountname', 'bank account name'],
    ['nama rekening', 'nama pemilik rekening', 'nama pemilik', 'pemilik rekening', 'nama di rekening', 'atas nama'],
    ['beneficiary name', 'recipient name', 'nama penerima', 'nama nasabah', 'a n'],
    ['name', 'nama', 'full name', 'nama lengkap', 'employee name', 'nama karyawan'],
  ],
};

/**
 * Finds the columns by their names, where the user has not named them.
 * @throws UnusableFile when it cannot decide, with the columns that the file has
 */
export function findColumns(header: readonly string[], given: GivenColumns, hasOneBank: boolean): Columns {
  const find = (field: Field, isRequired: boolean): number | null => {
    const name = given[field];
    if (name !== null) return givenColumn(header, field, name);
    const found = byName(header, field);
    if (found.length === 1) return found[0] ?? null;
    if (found.length === 0 && !isRequired) return null;
    throw undecided(header, field, found);
  };
  return {
    bank: hasOneBank ? null : find('bank', true),
    account: find('account', true),
    name: find('name', false),
  };
}

/** Punctuation and case differ from file to file: `No. Rek`, `no_rek`, `NO REK`. */
const normalize = (name: string): string =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** The columns with a name of the first group of which the file has any. */
function byName(header: readonly string[], field: Field): number[] {
  const names = header.map(normalize);
  for (const group of NAMES[field]) {
    const found = names.flatMap((name, position) => (group.includes(name) ? [position] : []));
    if (found.length > 0) return found;
  }
  return [];
}

function givenColumn(header: readonly string[], field: Field, wanted: string): number {
  const exact = header.flatMap((name, position) => (name === wanted.trim() ? [position] : []));
  const similar = header.flatMap((name, position) => (normalize(name) === normalize(wanted) ? [position] : []));
  const [position, ...others] = exact.length > 0 ? exact : similar;
  if (position !== undefined && others.length === 0) return position;
  const counted = position === undefined ? positionOf(wanted) : null;
  if (counted !== null && counted < header.length) return counted;
  const reason =
    position === undefined ? `the file has no column "${wanted}"` : `several columns are named "${wanted}"`;
  throw new UnusableFile(
    `${OPTIONS[field]}: ${reason}. It has: ${describe(header)}. Give a name, a letter such as B, or a position`,
  );
}

/** The index of a column by its letters or by its position from 1. */
function positionOf(wanted: string): number | null {
  if (/^[1-9]\d{0,4}$/.test(wanted)) return Number(wanted) - 1;
  if (!/^[A-Za-z]{1,2}$/.test(wanted)) return null;
  return Buffer.from(wanted.toUpperCase()).reduce((column, letter) => column * 26 + (letter - 64), 0) - 1;
}

function undecided(header: readonly string[], field: Field, found: readonly number[]): UnusableFile {
  const which = `which column holds ${MEANINGS[field]}?`;
  const [first] = found;
  const example = first === undefined ? 'B' : letterOf(first);
  const reason =
    first === undefined
      ? `none has a name that says so. The first row is read as the header row; it has: ${describe(header)}`
      : `${found.length} columns may: ${describe(header, found)}`;
  const bank = field === 'bank' ? ', or --bank CODE if all rows have one bank' : '';
  return new UnusableFile(`${which} ${reason}. Say it with ${OPTIONS[field]} ${example}${bank}`);
}

const describe = (header: readonly string[], positions: readonly number[] = [...header.keys()]): string =>
  positions.map((position) => `${letterOf(position)} "${header[position] ?? ''}"`).join(', ');

const letterOf = (position: number): string =>
  (position >= 26 ? letterOf(Math.floor(position / 26) - 1) : '') + String.fromCharCode(65 + (position % 26));
