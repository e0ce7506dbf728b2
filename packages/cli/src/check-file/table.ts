/** A file of accounts as it was read, before it is known which column holds what. */
export interface Table {
  readonly header: readonly string[];
  /** In the order of the file. Blank lines are not among them. */
  readonly rows: readonly TableRow[];
  /** Between the cells of the result: as in the file, or a comma where that is no CSV. */
  readonly delimiter: Delimiter;
}

export interface TableRow {
  /** The line of the file or the row of the sheet, from 1. */
  readonly line: number;
  /** In the order of the header. A line that cannot be read is in the first cell, as it stands. */
  readonly cells: readonly Cell[];
  /** Why the line cannot be read, and what to do. */
  readonly fault: string | null;
}

export type Delimiter = ',' | ';' | '\t';

/** What a cell holds. Only text is certain to be what its author typed. */
export type Cell = string | TypedCell;

export interface TypedCell {
  readonly kind: 'number' | 'date' | 'boolean' | 'error' | 'object';
  /** As the file has it: a JavaScript number would round long numbers. */
  readonly text: string;
}

/** The file as a whole cannot be used. The message says what is wrong and what to do next. */
export class UnusableFile extends Error {}

export const textOf = (cell: Cell | undefined): string =>
  cell === undefined || typeof cell === 'string' ? (cell ?? '') : cell.text;

export const isBlank = (cells: readonly Cell[]): boolean => cells.every((cell) => textOf(cell).trim() === '');

/** More are no list of accounts to pay; they would also not fit into memory together with their results. */
const ROWS_MAX = 1_000_000;

/** @throws UnusableFile when the file has more rows than can be checked at once */
export function requireFewRows(rows: number): void {
  if (rows > ROWS_MAX) throw new UnusableFile(`the file has more than ${ROWS_MAX} rows: split it into several files`);
}
