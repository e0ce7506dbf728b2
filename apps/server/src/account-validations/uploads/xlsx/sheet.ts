import type { Readable } from 'node:stream';
import { readCell, type SheetCell } from './cells.ts';
import { damaged, type Parts } from './parts.ts';
import { type Attributes, readXml } from './xml.ts';

/** Called with each row that has cells, in their order: the number of the row, and its cells by column from 1. */
export type OnRow = (rowNumber: number, cells: ReadonlyMap<number, SheetCell>) => void;

/** The last cell of a sheet is XFD1048576. */
const COLUMN_MAX = 16_384;
const ROW_MAX = 1_048_576;

/**
 * Reads a sheet (ECMA-376, part 1, section 18.3.1), which may omit empty cells and rows. The size that the sheet states
 * for itself is not trusted. @throws UnreadableUpload
 */
export async function readSheet(
  sheet: Readable,
  parts: Pick<Parts, 'countMarkup' | 'limits'>,
  sharedStrings: readonly string[],
  onRow: OnRow,
): Promise<void> {
  let rowNumber = 0;
  let columnNumber = 0;
  let type = 'n';
  let text = '';
  let cells = new Map<number, SheetCell>();

  const textRun = {
    close(run: string) {
      text += run;
    },
  };
  const c = {
    open(attributes: Attributes) {
      columnNumber = positionAfter(columnNumber, columnIn(attributes, rowNumber), COLUMN_MAX);
      type = attributes['t'] ?? 'n';
      text = '';
    },
    close() {
      const cell = readCell(type, text, sharedStrings);
      if (cell !== null) cells.set(columnNumber, cell);
    },
    inside: { v: textRun, is: { inside: { t: textRun, r: { inside: { t: textRun } } } } },
  };
  const row = {
    open(attributes: Attributes) {
      rowNumber = positionAfter(rowNumber, attributes['r'], ROW_MAX);
      columnNumber = 0;
      cells = new Map();
    },
    close() {
      if (cells.size > 0) onRow(rowNumber, cells);
    },
    inside: { c },
  };
  await readXml(sheet, { worksheet: { inside: { sheetData: { inside: { row } } } } }, parts);
}

/** A cell or row without a reference is the next one. Positions must increase, so that no cell is read twice. */
function positionAfter(last: number, given: number | string | undefined, max: number): number {
  const position = given === undefined ? last + 1 : Number(given);
  if (!Number.isInteger(position) || position <= last || position > max) throw damaged();
  return position;
}

const REFERENCE = /^([A-Z]{1,3})([1-9]\d{0,6})$/;

/** The number of the column: 27 for AA3 in row 3. */
function columnIn(attributes: Attributes, rowNumber: number): number | undefined {
  const reference = attributes['r'];
  if (reference === undefined) return undefined;
  const [, letters = '', row] = REFERENCE.exec(reference) ?? [];
  if (Number(row) !== rowNumber) throw damaged();
  return Buffer.from(letters).reduce((column, letter) => column * 26 + (letter - 64), 0);
}
