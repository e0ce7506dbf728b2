import { maskName, maskNumber } from '../output/mask.ts';
import { plain } from '../output/style.ts';
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

/** Words that say of an account, a bank or a name that it is the recipient's. A file may have the payer's too. */
const RECIPIENT: ReadonlySet<string> = new Set([
  'beneficiary',
  'recipient',
  'destination',
  'payee',
  'tujuan',
  'penerima',
]);
const ofRecipient = (names: readonly string[]): readonly string[] => names.map((name) => `recipient ${name}`);

const BANK_CODES = ['bank code', 'kode bank'];
const BANKS = ['bank'];
const BANK_NAMES = ['bank name', 'nama bank'];
const CLEARING_CODES = [
  'bic',
  'kode bic',
  'swift',
  'swift code',
  'kode swift',
  'clearing code',
  'kode kliring',
  'sandi bank',
];
const ACCOUNTS = [
  ['account number', 'nomor rekening', 'no rekening', 'no rek', 'norek', 'nomor rek', 'nomer rekening'],
  ['norekening', 'account no', 'acc no', 'acc number', 'acct no', 'acct number', 'bank account number'],
  ['accountnumber', 'nomor rekening bank', 'no rekening bank', 'rekening bank', 'bank account', 'nomor akun'],
  ['no akun', 'account', 'acct', 'rekening', 'rek'],
].flat();
const MOBILE_NUMBERS = [
  'mobile number',
  'nomor hp',
  'no hp',
  'nomor ponsel',
  'no ponsel',
  'phone number',
  'nomor telepon',
];
const HOLDERS = [
  ['account name', 'account holder', 'account holder name', 'holder name', 'accountname', 'bank account name'],
  ['nama rekening', 'nama pemilik rekening', 'nama pemilik', 'pemilik rekening', 'nama di rekening', 'atas nama'],
  ['nama nasabah', 'a n'],
].flat();
const PEOPLE = ['name', 'nama', 'full name', 'nama lengkap', 'employee name', 'nama karyawan'];

/**
 * The names of columns in English and Indonesian, the clearest ones first. A file that has a column of an earlier
 * group is read by that one, whatever other columns it has: `nomor rekening tujuan` comes before `nomor rekening`,
 * which may be the payer's own account. Names that may mean different accounts or people are in one group: a file that
 * has two of them is undecided. A bank's code and its name mean the same bank, so the code comes first.
 */
const NAMES: Readonly<Record<Field, readonly (readonly string[])[]>> = {
  bank: [
    ...[BANK_CODES, BANKS, BANK_NAMES, CLEARING_CODES].map(ofRecipient),
    BANK_CODES,
    BANKS,
    BANK_NAMES,
    CLEARING_CODES,
  ],
  account: [ofRecipient(ACCOUNTS), ACCOUNTS, ofRecipient(MOBILE_NUMBERS), MOBILE_NUMBERS],
  name: [['expected account name', ...ofRecipient(HOLDERS)], [...HOLDERS, ...ofRecipient(PEOPLE)], PEOPLE],
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
  const columns = {
    bank: hasOneBank ? null : find('bank', true),
    account: find('account', true),
    name: find('name', false),
  };
  if (columns.account !== null && isAccountNumber(header[columns.account] ?? ''))
    throw new UnusableFile(
      `${letterOf(columns.account)} has an account number in the first row, the header row. ${NO_HEADER}`,
    );
  return columns;
}

const NO_HEADER = 'Add a row with the names of the columns above it: the account of this row would not be checked';

/** A number as account numbers are written, or an alias. A file without a header row begins with one. */
const isAccountNumber = (cell: string): boolean =>
  /^\+?\d{5,34}$/.test(cell.replaceAll(/[\s.'-]/g, '')) || /^\d[.,]\d+E\+?\d+$/i.test(cell) || /^\S+@\S+$/.test(cell);

/**
 * The name of a column, for a terminal. What may be the account of a payee, in a file without a header row, is masked:
 * its digits, and in that row its names too.
 */
export function titleOf(header: readonly string[], position: number): string {
  const title = header[position] ?? '';
  if (/^[\d\s.,'+-]+$/.test(title)) return maskNumber(title);
  return header.some(isAccountNumber) ? maskName(title) : plain(title);
}

/** Punctuation and case differ from file to file: `No. Rek`, `no_rek`, `NO REK`. */
const normalize = (name: string): string =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** The name without the words for the recipient, which the groups have as the first word `recipient`. */
function withoutRecipient(name: string): string {
  const words = name.split(' ');
  const others = words.filter((word) => !RECIPIENT.has(word));
  return others.length === words.length ? name : ['recipient', ...others].join(' ');
}

/** The columns with a name of the first group of which the file has any. */
function byName(header: readonly string[], field: Field): number[] {
  const names = header.map((name) => withoutRecipient(normalize(name)));
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
    position === undefined
      ? `the file has no column "${plain(wanted)}"`
      : `several columns are named "${plain(wanted)}"`;
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
  if (first === undefined && header.some(isAccountNumber))
    return new UnusableFile(
      `${which} The first row, the header row, has an account number: ${describe(header)}. ${NO_HEADER}`,
    );
  const example = first === undefined ? 'B' : letterOf(first);
  const reason =
    first === undefined
      ? `none has a name that says so. The first row is read as the header row; it has: ${describe(header)}`
      : `${found.length} columns may: ${describe(header, found)}`;
  const bank = field === 'bank' ? ', or --bank CODE if all rows have one bank' : '';
  return new UnusableFile(`${which} ${reason}. Say it with ${OPTIONS[field]} ${example}${bank}`);
}

const describe = (header: readonly string[], positions: readonly number[] = [...header.keys()]): string =>
  positions.map((position) => `${letterOf(position)} "${titleOf(header, position)}"`).join(', ');

const letterOf = (position: number): string =>
  (position >= 26 ? letterOf(Math.floor(position / 26) - 1) : '') + String.fromCharCode(65 + (position % 26));
