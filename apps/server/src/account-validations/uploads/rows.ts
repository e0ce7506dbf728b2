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
const EXPECTED_HEADER = 'it must name bank_code and account_number, and may name expected_account_name and reference';

/** The positions of the columns in a header row. Other columns may stand between them. @throws UnreadableUpload */
export function readHeader(names: Iterable<readonly [position: number, name: string]>): ReadonlyMap<Column, number> {
  const positions = new Map<Column, number>();
  for (const [position, name] of names) {
    const normalized = name.trim().toLowerCase();
    const column = COLUMNS.find((each) => each === normalized);
    if (column === undefined) continue;
    if (positions.has(column)) throw invalid(`the header row has ${column} twice: keep one of the two columns`);
    positions.set(column, position);
  }
  const missing = REQUIRED.filter((column) => !positions.has(column));
  if (missing.length > 0) throw invalid(`the header row lacks ${missing.join(' and ')}: ${EXPECTED_HEADER}`);
  return positions;
}

/** The content of a cell: text, nothing, or a value that is not text. */
export type Cell = string | null | NotText;

export interface NotText {
  /** Follows the name of the column: "is a number: …". */
  readonly fault: string;
}

export interface Rows {
  /** @throws UnreadableUpload when there are too many rows */
  add(rowNumber: number, cells: (column: Column) => Cell, rowFault?: string | null): void;
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
        throw tooLarge(`it has more than ${UPLOAD_ROWS_MAX} rows: send it in parts`);
      }
      const faults = rowFault === null ? [] : [rowFault];
      const [bankCode, accountNumber, expectedAccountName, reference] = COLUMNS.map((column) => {
        const cell = cells(column);
        const fault = faultOf(cell);
        if (fault !== null) faults.push(`${column} ${fault}`);
        if (typeof cell !== 'string' || cell === '' || fault !== null) return null;
        textLength += cell.length;
        return cell;
      }) as [string | null, string | null, string | null, string | null];
      if (textLength > TEXT_LENGTH_MAX) throw tooLarge('its cells contain too much text: send it in parts');
      const fault = faults.length === 0 ? null : faults.join('; ');
      rows.push({ rowNumber, bankCode, accountNumber, expectedAccountName, reference, fault });
    },
    all() {
      if (rows.length === 0) throw invalid('the upload contains no accounts: send at least one');
      return rows;
    },
  };
}

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

function faultOf(cell: Cell): string | null {
  if (cell === null) return null;
  if (typeof cell !== 'string') return cell.fault;
  if (cell.length > CELL_LENGTH_MAX) return `is longer than ${CELL_LENGTH_MAX} characters`;
  if (CONTROL_CHARACTER.test(cell) || !cell.isWellFormed()) return 'contains a character that cannot be printed';
  return null;
}
