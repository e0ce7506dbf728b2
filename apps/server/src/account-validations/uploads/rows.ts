import type { BilingualText } from '../../lib/bilingual-text.ts';
import {
  invalid,
  tooLarge,
  UnreadableUpload,
  UPLOAD_BYTES_MAX,
  UPLOAD_ROWS_MAX,
  type UploadResult,
  type UploadRow,
} from './upload.ts';

export const COLUMNS = ['bank_code', 'account_number', 'expected_account_name', 'reference'] as const;
export type Column = (typeof COLUMNS)[number];

const REQUIRED: readonly Column[] = ['bank_code', 'account_number'];
const EXPECTED_HEADER: BilingualText = {
  en: 'it must name bank_code and account_number, and may name expected_account_name and reference',
  id: 'harus ada bank_code dan account_number, serta boleh ada expected_account_name dan reference',
};

/** The positions of the columns in a header row. Other columns may stand between them. @throws UnreadableUpload */
export function readHeader(names: Iterable<readonly [position: number, name: string]>): ReadonlyMap<Column, number> {
  const positions = new Map<Column, number>();
  for (const [position, name] of names) {
    const normalized = name.trim().toLowerCase();
    const column = COLUMNS.find((each) => each === normalized);
    if (column === undefined) continue;
    if (positions.has(column)) {
      throw invalid({
        en: `the header row has ${column} twice: keep one of the two columns`,
        id: `baris judul memiliki ${column} dua kali: sisakan satu dari kedua kolom`,
      });
    }
    positions.set(column, position);
  }
  const missing = REQUIRED.filter((column) => !positions.has(column));
  if (missing.length > 0) {
    throw invalid({
      en: `the header row lacks ${missing.join(' and ')}: ${EXPECTED_HEADER.en}`,
      id: `baris judul tidak memiliki ${missing.join(' dan ')}: ${EXPECTED_HEADER.id}`,
    });
  }
  return positions;
}

/** The content of a cell: text, nothing, or a value that is not text. */
export type Cell = string | null | NotText;

export interface NotText {
  /** Follows the name of the column: "is a number: …". */
  readonly fault: BilingualText;
}

export interface Rows {
  /** @throws UnreadableUpload when there are too many rows */
  add(rowNumber: number, cells: (column: Column) => Cell, rowFault?: BilingualText | null): void;
  /** @throws UnreadableUpload when there are no rows */
  all(): readonly UploadRow[];
}

export const CELL_LENGTH_MAX = 512;
/**
 * The text of all rows together. The cells of a compressed workbook may all refer to one shared text; this keeps the
 * text that is read as short as text that is sent uncompressed.
 */
const TEXT_LENGTH_MAX = UPLOAD_BYTES_MAX;

/** The sender cannot see a tab or a line break in a number, and PostgreSQL rejects U+0000. */
const CONTROL_CHARACTER = /\p{Cc}/u;

function createRows(): Rows {
  const rows: UploadRow[] = [];
  let textLength = 0;

  return {
    add(rowNumber, cells, rowFault = null) {
      if (rows.length === UPLOAD_ROWS_MAX) {
        throw tooLarge(TOO_MANY_ROWS);
      }
      const faults = rowFault === null ? [] : [rowFault];
      const [bankCode, accountNumber, expectedAccountName, reference] = COLUMNS.map((column) => {
        const cell = cells(column);
        const fault = faultOf(cell);
        if (fault !== null) faults.push({ en: `${column} ${fault.en}`, id: `${column} ${fault.id}` });
        if (typeof cell !== 'string' || cell === '' || fault !== null) return null;
        textLength += cell.length;
        return cell;
      }) as [string | null, string | null, string | null, string | null];
      if (textLength > TEXT_LENGTH_MAX) throw tooLarge(TOO_MUCH_TEXT);
      const fault = faults.length === 0 ? null : joined(faults);
      rows.push({ rowNumber, bankCode, accountNumber, expectedAccountName, reference, fault });
    },
    all() {
      if (rows.length === 0) throw invalid(NO_ACCOUNTS);
      return rows;
    },
  };
}

const joined = (faults: readonly BilingualText[]): BilingualText => ({
  en: faults.map(({ en }) => en).join('; '),
  id: faults.map(({ id }) => id).join('; '),
});

const TOO_MANY_ROWS: BilingualText = {
  en: `it has more than ${UPLOAD_ROWS_MAX} rows: send it in parts`,
  id: `isinya lebih dari ${UPLOAD_ROWS_MAX} baris: kirim dalam beberapa bagian`,
};
const TOO_MUCH_TEXT: BilingualText = {
  en: 'its cells contain too much text: send it in parts',
  id: 'sel-selnya berisi terlalu banyak teks: kirim dalam beberapa bagian',
};
const NO_ACCOUNTS: BilingualText = {
  en: 'the upload contains no accounts: send at least one',
  id: 'unggahan tidak berisi rekening: kirim paling sedikit satu',
};

/** The result of reading an upload with `read`. Rejects only for errors that are not a fault of the upload. */
export async function resultOf(read: (rows: Rows) => void | Promise<void>): Promise<UploadResult> {
  try {
    const rows = createRows();
    await read(rows);
    return { kind: 'rows', rows: rows.all() };
  } catch (error) {
    if (!(error instanceof UnreadableUpload)) throw error;
    return error.fault;
  }
}

/** Whether all four columns of a table row are empty or white space. Such rows are skipped. */
export const isBlankRow = (cells: (column: Column) => Cell): boolean =>
  COLUMNS.every((column) => {
    const cell = cells(column);
    return cell === null || (typeof cell === 'string' && cell.trim() === '');
  });

function faultOf(cell: Cell): BilingualText | null {
  if (cell === null) return null;
  if (typeof cell !== 'string') return cell.fault;
  if (cell.length > CELL_LENGTH_MAX) return TOO_LONG;
  if (CONTROL_CHARACTER.test(cell) || !cell.isWellFormed()) return UNPRINTABLE;
  return null;
}

const TOO_LONG: BilingualText = {
  en: `is longer than ${CELL_LENGTH_MAX} characters`,
  id: `lebih panjang dari ${CELL_LENGTH_MAX} karakter`,
};
const UNPRINTABLE: BilingualText = {
  en: 'contains a character that cannot be printed',
  id: 'berisi karakter yang tidak dapat ditampilkan',
};
