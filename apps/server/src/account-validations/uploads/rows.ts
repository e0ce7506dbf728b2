import { COLUMNS, type Column } from './columns.ts';
import {
  invalid,
  tooLarge,
  UnreadableUpload,
  UPLOAD_BYTES_MAX,
  UPLOAD_ROWS_MAX,
  type UploadResult,
  type UploadRow,
} from './upload.ts';

/** What stands in a cell: text, nothing, or something that is not text. */
export type Cell = string | null | NoText;

export interface NoText {
  /** Follows the column's name: "is a number: …". */
  readonly fault: string;
}

export interface Rows {
  /** @throws UnreadableUpload when there are too many */
  add(rowNumber: number, cells: (column: Column) => Cell, rowFault?: string | null): void;
  /** @throws UnreadableUpload when there are none */
  all(): readonly UploadRow[];
}

export const CELL_LENGTH_MAX = 512;
/** A compressed workbook may name one text in every cell: what is read is not longer than what may be sent as it is. */
const TEXT_LENGTH_MAX = UPLOAD_BYTES_MAX;

/** A tab or a line break in a number is invisible to its sender, and PostgreSQL refuses U+0000. */
const CONTROL = /\p{Cc}/u;

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
      if (textLength > TEXT_LENGTH_MAX) throw tooLarge('its cells hold too much text: send it in parts');
      const fault = faults.length === 0 ? null : faults.join('; ');
      rows.push({ rowNumber, bankCode, accountNumber, expectedAccountName, reference, fault });
    },
    all() {
      if (rows.length === 0) throw invalid('there is no account in it: send at least one');
      return rows;
    },
  };
}

/** What reading an upload comes to. Rejects only for what is no fault of the upload. */
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

/** A row of a table in which no column says anything is one that its sender left free. */
export const isBlankRow = (cells: (column: Column) => Cell): boolean =>
  COLUMNS.every((column) => {
    const cell = cells(column);
    return cell === null || (typeof cell === 'string' && cell.trim() === '');
  });

function faultOf(cell: Cell): string | null {
  if (cell === null) return null;
  if (typeof cell !== 'string') return cell.fault;
  if (cell.length > CELL_LENGTH_MAX) return `is longer than ${CELL_LENGTH_MAX} characters`;
  if (CONTROL.test(cell) || !cell.isWellFormed()) return 'holds a character that cannot be printed';
  return null;
}
