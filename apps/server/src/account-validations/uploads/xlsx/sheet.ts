import type { Readable } from 'node:stream';
import { type Cell, type Column, isBlankRow, type Rows, readHeader } from '../rows.ts';
import { invalid } from '../upload.ts';
import { readCell } from './cells.ts';
import { damaged, type Parts } from './parts.ts';
import { type Attributes, readXml } from './xml.ts';

/** The last cell of a sheet is XFD1048576. */
const COLUMN_MAX = 16_384;
const ROW_MAX = 1_048_576;

/**
 * Reads a sheet (ECMA-376, part 1, section 18.3.1). The first row with text is the header row. The sheet may omit empty
 * cells and rows. The size that the sheet states for itself is not trusted. @throws UnreadableUpload
 */
export async function readSheet(
  sheet: Readable,
  parts: Pick<Parts, 'countMarkup'>,
  sharedStrings: readonly string[],
  rows: Rows,
): Promise<void> {
  let columns: ReadonlyMap<Column, number> | null = null;
  let rowNumber = 0;
  let columnNumber = 0;
  let type = 'n';
  let text = '';
  let cells = new Map<number, Cell>();

  function addRow(): void {
    if (columns === null) {
      const names = [...cells].filter((entry): entry is [number, string] => typeof entry[1] === 'string');
      if (names.length > 0) columns = readHeader(names);
      return;
    }
    const positions = columns;
    const cellOf = (column: Column): Cell => cells.get(positions.get(column) ?? 0) ?? null;
    if (!isBlankRow(cellOf)) rows.add(rowNumber, cellOf);
  }

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
    close: addRow,
    inside: { c },
  };
  await readXml(sheet, { worksheet: { inside: { sheetData: { inside: { row } } } } }, parts);
  if (columns === null)
    throw invalid({
      en: 'the first sheet is empty: put the accounts there, under a header row',
      id: 'lembar pertama kosong: taruh rekening di sana, di bawah baris judul',
    });
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
