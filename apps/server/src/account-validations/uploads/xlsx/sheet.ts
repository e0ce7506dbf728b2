import type { Readable } from 'node:stream';
import { type Column, readHeader } from '../columns.ts';
import { type Cell, isBlankRow, type Rows } from '../rows.ts';
import { invalid } from '../upload.ts';
import { readCell } from './cell.ts';
import { damaged, type Parts } from './parts.ts';
import { type Attributes, readXml } from './xml.ts';

/** What a sheet can have: XFD1048576 is its last cell. */
const COLUMN_MAX = 16_384;
const ROW_MAX = 1_048_576;

/**
 * Rows of a sheet (ECMA-376, part 1, section 18.3.1), the first that says anything being the header row. Cells and rows
 * without anything may be left out. Nothing that the sheet says of its own size is believed. @throws UnreadableUpload
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

  function takeRow(): void {
    if (columns === null) {
      const names = [...cells].filter((entry): entry is [number, string] => typeof entry[1] === 'string');
      if (names.length > 0) columns = readHeader(names);
      return;
    }
    const positions = columns;
    const cellOf = (column: Column): Cell => cells.get(positions.get(column) ?? 0) ?? null;
    if (!isBlankRow(cellOf)) rows.add(rowNumber, cellOf);
  }

  const piece = {
    close(more: string) {
      text += more;
    },
  };
  const c = {
    open(attributes: Attributes) {
      columnNumber = placeAfter(columnNumber, columnIn(attributes, rowNumber), COLUMN_MAX);
      type = attributes['t'] ?? 'n';
      text = '';
    },
    close() {
      const cell = readCell(type, text, sharedStrings);
      if (cell !== null) cells.set(columnNumber, cell);
    },
    inside: { v: piece, is: { inside: { t: piece, r: { inside: { t: piece } } } } },
  };
  const row = {
    open(attributes: Attributes) {
      rowNumber = placeAfter(rowNumber, attributes['r'], ROW_MAX);
      columnNumber = 0;
      cells = new Map();
    },
    close: takeRow,
    inside: { c },
  };
  await readXml(sheet, { worksheet: { inside: { sheetData: { inside: { row } } } } }, parts);
  if (columns === null) throw invalid('the first sheet is empty: put the accounts there, under a header row');
}

/** A place that is not named is the next one. Going back would write a cell twice. */
function placeAfter(last: number, named: number | string | undefined, max: number): number {
  const place = named === undefined ? last + 1 : Number(named);
  if (!Number.isInteger(place) || place <= last || place > max) throw damaged();
  return place;
}

const REFERENCE = /^([A-Z]{1,3})([1-9]\d{0,6})$/;

/** 27 for AA3 in row 3. */
function columnIn(attributes: Attributes, rowNumber: number): number | undefined {
  const reference = attributes['r'];
  if (reference === undefined) return undefined;
  const [, letters = '', row] = REFERENCE.exec(reference) ?? [];
  if (Number(row) !== rowNumber) throw damaged();
  return Buffer.from(letters).reduce((column, letter) => column * 26 + (letter - 64), 0);
}
